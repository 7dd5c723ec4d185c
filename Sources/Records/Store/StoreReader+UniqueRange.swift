internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels

extension StoreReader {
    /// The number of a constraint's unique keys whose values, encoded as `OrderKey`, are in `lower..<upper`; nil if
    /// there are more than `most`. Objects with null, and objects that lack their keys, aren't counted.
    package func keyCount(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8], atMost most: Int
    ) throws -> Int? {
        var count = 0
        try forEachUniqueKey(entity, constraint, from: lower, to: upper) { _, _ in
            count += 1
            return count <= most
        }
        return count <= most ? count : nil
    }

    /// The objects that unique keys with values in `lower..<upper` lead to, in the order of these values. Throws
    /// `corrupted` if a unique key leads to an object that is missing or has another value. O(k log n) for k objects.
    package func objects(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8]
    ) throws -> [RecordKey] {
        var objects: [RecordKey] = []
        try forEachUniqueKey(entity, constraint, from: lower, to: upper) { key, value in
            let key = [UInt8](copying: key)
            let object = try object(unique: key, value: value)
            guard try record(object, { try requireUniqueKey(key, constraint, of: object, $0) }) else {
                throw wrongUniqueKey(constraint, to: object)
            }
            objects.append(object)
            return true
        }
        return objects
    }

    /// Calls the body with the unique keys in `lower..<upper`, in order, until it returns false.
    private func forEachUniqueKey(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8],
        _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws {
        let prefix = StoreLayout.uniqueKey(entity: entity, constraint)
        let (lower, upper) = (prefix + lower, prefix + upper)
        try view.withCursor(on: tables.unique) { cursor in
            // LMDB limits the length of a key, so the seek uses a prefix of a longer bound. The stored keys that are
            // less than the bound itself are then skipped.
            var isFound = try cursor.seek(toKeyFrom: Array(lower.prefix(Table.maximumKeyLength)).span.bytes)
            while isFound, cursor.key.compare(lower.span.bytes) < 0 { isFound = try cursor.seekToNext() }
            while isFound, try cursor.key.compare(upper.span.bytes) < 0 && body(cursor.key, cursor.value) {
                isFound = try cursor.seekToNext()
            }
        }
    }
}
