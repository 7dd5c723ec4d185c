internal import Bytes
internal import LMDB
package import Models

extension StoreReader {
    /// The objects whose value of a unique attribute has an OrderKey from `lower` on that is less than `upper`; nil when these are more
    /// than `most`. Null has none. Throws `corrupted` when a key leads to an object that is not there, or has another
    /// value. O(log n + k) for k keys, and O(k log n) unless they are too many.
    package func objects(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8], atMost most: Int
    ) throws -> [RecordKey]? {
        let prefix = StoreLayout.uniqueKey(entity: entity, constraint)
        let (lower, upper) = (prefix + lower, prefix + upper)
        // To read a record costs much more than to count its key.
        var count = 0
        try forEachUniqueKey(from: lower, to: upper) { _, _ in
            count += 1
            return count <= most
        }
        guard count <= most else { return nil }
        var objects: [RecordKey] = []
        objects.reserveCapacity(count)
        try forEachUniqueKey(from: lower, to: upper) { key, value in
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

    /// Calls the body with the unique keys from one on that are less than another, until it returns false.
    private func forEachUniqueKey(
        from lower: [UInt8], to upper: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws {
        try view.withCursor(on: tables.unique) { cursor in
            // No key is longer, and none that is less than the wanted ones begins with so many bytes of theirs but few.
            let start = lower.prefix(Table.maximumKeyLength)
            var isFound = try cursor.seek(toKeyFrom: Array(start).span.bytes)
            while isFound, cursor.key.compare(upper.span.bytes) < 0 {
                if try cursor.key.compare(lower.span.bytes) >= 0 && !body(cursor.key, cursor.value) { return }
                isFound = try cursor.seekToNext()
            }
        }
    }
}
