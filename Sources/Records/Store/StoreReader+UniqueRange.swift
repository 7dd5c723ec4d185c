internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels

extension StoreReader {
    /// The number of objects whose value of a unique attribute, as an OrderKey, is `lower` or greater, and less than `upper`; nil when there are
    /// more than `most`. Objects without a value do not count. O(log n + most).
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

    /// These objects, in the order of their values. Throws `corrupted` when a key leads to an object that is not there, or has another value.
    /// O(k log n) for k objects.
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

    /// Calls the body with the unique keys, until it returns false.
    private func forEachUniqueKey(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8],
        _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws {
        let prefix = StoreLayout.uniqueKey(entity: entity, constraint)
        let (lower, upper) = (prefix + lower, prefix + upper)
        try view.withCursor(on: tables.unique) { cursor in
            // LMDB takes no longer key than this. A key that equals the beginning of the bound is less than the whole of it.
            var isFound = try cursor.seek(toKeyFrom: Array(lower.prefix(Table.maximumKeyLength)).span.bytes)
            while isFound, cursor.key.compare(lower.span.bytes) < 0 { isFound = try cursor.seekToNext() }
            while isFound, try cursor.key.compare(upper.span.bytes) < 0 && body(cursor.key, cursor.value) {
                isFound = try cursor.seekToNext()
            }
        }
    }
}
