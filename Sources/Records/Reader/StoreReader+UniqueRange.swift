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
        try forEachObject(entity, constraint, from: lower, to: upper) { object, _ in
            objects.append(object)
            return true
        }
        return objects
    }

    /// Calls the body with the objects that unique keys with values in `lower..<upper` lead to, and with their records, in
    /// the order of these values or backwards, until the body returns false. Throws like `objects`.
    package func forEachObject(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8],
        isBackward: Bool = false, _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws {
        try forEachUniqueKey(entity, constraint, from: lower, to: upper, isBackward: isBackward) { key, value in
            let key = [UInt8](copying: key)
            let object = try object(unique: key, value: value)
            var shouldContinue = false
            let isFound = try record(object) { record in
                try requireUniqueKey(key, constraint, of: object, record)
                shouldContinue = try body(object, record)
            }
            if !isFound { throw wrongUniqueKey(constraint, to: object) }
            return shouldContinue
        }
    }

    /// Calls the body with the unique keys in `lower..<upper`, in order or backwards, until it returns false.
    private func forEachUniqueKey(
        _ entity: Int, _ constraint: UniqueConstraint, from lower: [UInt8], to upper: [UInt8],
        isBackward: Bool = false, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws {
        let prefix = StoreLayout.uniqueKey(entity: entity, constraint)
        let (lower, upper) = (prefix + lower, prefix + upper)
        try view.withCursor(on: tables.unique) { cursor in
            // LMDB limits the length of a key, so the seek uses a prefix of a longer bound. The stored keys that are
            // less than the bound itself are then skipped.
            let start = isBackward ? upper : lower
            var isFound = try cursor.seek(toKeyFrom: Array(start.prefix(Table.maximumKeyLength)).span.bytes)
            while isFound, cursor.key.compare(start.span.bytes) < 0 { isFound = try cursor.seekToNext() }
            if isBackward {
                let end = isFound ? [UInt8](copying: cursor.key) : [UInt8](repeating: .max, count: 16)
                return try Self.walkBack(&cursor, before: end, downTo: lower, body)
            }
            while isFound, try cursor.key.compare(upper.span.bytes) < 0 && body(cursor.key, cursor.value) {
                isFound = try cursor.seekToNext()
            }
        }
    }

    /// Calls the body with the entries before a key whose keys are at least `lower`, backwards, until it returns false.
    private static func walkBack(
        _ cursor: inout Cursor, before key: [UInt8], downTo lower: [UInt8],
        _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
    ) throws {
        var key = key
        while try cursor.seek(toLastKeyBefore: key.span.bytes) {
            key = [UInt8](copying: cursor.key)
            if key.lexicographicallyPrecedes(lower) { return }
            if try !body(key.span.bytes, cursor.value) { return }
        }
    }
}
