internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels
internal import FetchIndexValues

extension StoreReader {
    /// The stored number of objects that refer to an object by a relationship. O(log n).
    package func linkCount(_ name: EntityLinks.Name, to target: RecordKey) throws -> Int {
        let key = LinkKey.prefix(name, to: target)
        var count: UInt64 = 0
        _ = try view.get(key, in: tables.unique) { count = try LinkKey.count($0, under: key.span.bytes) }
        return Int(clamping: count)
    }

    /// Calls the body with the objects that refer to an object by a relationship, in the order of their links, until
    /// the body returns false. A link's sort key is the part of its key after the target. If `last` isn't nil, begins
    /// after this sort key. Throws `corrupted` for a damaged link. If `last` is nil and the body never returned false,
    /// also throws if the number of links isn't the stored count. O(log n + holders).
    package func forEachLink(
        _ name: EntityLinks.Name, to target: RecordKey, after last: [UInt8]? = nil,
        _ body: (RecordKey, _ sortKey: RawSpan) throws -> Bool
    ) throws {
        let prefix = LinkKey.prefix(name, to: target)
        let start = prefix + (last ?? [])
        var found = 0
        var isWhole = last == nil
        try view.walk(tables.unique, from: start.span.bytes) { cursor in
            guard let link = try self.link(at: cursor.key, cursor.value, beginningWith: prefix) else { return false }
            guard let holder = link.holder, !cursor.key.isEqual(to: start.span.bytes) else { return true }
            found += 1
            let continues = try body(holder, cursor.key.extracting(prefix.count..<cursor.key.byteCount))
            if !continues { isWhole = false }
            return continues
        }
        guard isWhole, try found != linkCount(name, to: target) else { return }
        throw StoreError.corrupted(
            "links to \(self.name(of: target)) are counted as \(try linkCount(name, to: target)), but there are \(found)"
        )
    }

    /// The last link to an object, or the last one before a sort key; nil if there isn't one. O(log n).
    package func lastLink(
        _ name: EntityLinks.Name, to target: RecordKey, before end: [UInt8]? = nil
    ) throws -> (holder: RecordKey, sortKey: [UInt8])? {
        let prefix = LinkKey.prefix(name, to: target)
        var bound = prefix + (end ?? [])
        // A sort key begins with the type of a value, which is less than 0xFF.
        if end == nil { bound.append(0xFF) }
        return try view.withCursor(on: tables.unique) { cursor in
            guard try cursor.seek(toLastKeyBefore: bound.span.bytes),
                let link = try self.link(at: cursor.key, cursor.value, beginningWith: prefix), let holder = link.holder
            else { return nil }
            let sortKey = [UInt8](copying: cursor.key.extracting(prefix.count..<cursor.key.byteCount))
            return (holder, sortKey)
        }
    }

    /// Decodes a link key. Returns nil if it doesn't begin with the prefix.
    private func link(at key: RawSpan, _ value: RawSpan, beginningWith prefix: [UInt8]) throws -> LinkKey? {
        guard key.byteCount >= prefix.count, key.extracting(first: prefix.count).isEqual(to: prefix.span.bytes) else {
            return nil
        }
        guard let link = LinkKey(key), link.holder == nil || LinkKey.isWhole(key, value) else {
            throw StoreError.corrupted("a link does not match its checksum")
        }
        return link
    }

    /// The join object whose first reference leads to one object and whose second reference leads to another; nil if there
    /// isn't one. `references` are the two of the join entity. O(log n); if the links of both objects have positions, linear
    /// in the smaller number of links.
    func join(
        of references: [EntityLinks.Reference], between first: RecordKey, and second: RecordKey
    ) throws -> RecordKey? {
        guard references.count == 2 else { return nil }
        let sides = [(references[0].name, first, second), (references[1].name, second, first)]
        for (name, target, other) in sides {
            var start: [UInt8] = []
            OrderKey.appendNull(to: &start)
            OrderKey.append(other.reference, to: &start)
            if let found = try join(name, from: target, to: other, after: start, isFirstOnly: true) { return found }
            // Links with a position are after links without one. If the last link has no position, no link has one, and
            // the search above would have found the link.
            guard let last = try lastLink(name, to: target), !OrderKey.isNull(last.sortKey.span.bytes) else {
                return nil
            }
        }
        let fewer = try linkCount(sides[0].0, to: first) <= linkCount(sides[1].0, to: second) ? sides[0] : sides[1]
        return try join(fewer.0, from: fewer.1, to: fewer.2, after: nil, isFirstOnly: false)
    }

    private func join(
        _ name: EntityLinks.Name, from target: RecordKey, to other: RecordKey, after start: [UInt8]?, isFirstOnly: Bool
    ) throws -> RecordKey? {
        var found: RecordKey?
        try forEachLink(name, to: target, after: start) { holder, sortKey in
            // A sort key consists of the position, the other side and the holder; this skips the position.
            if let length = OrderKey.lengthOfFirst(in: sortKey) {
                let value = OrderKey.first(in: sortKey.extracting(length..<sortKey.byteCount))?.value
                if value == other.reference { found = holder }
            }
            return found == nil && !isFirstOnly
        }
        return found
    }

    /// The name of an object in messages: its entity and number.
    func name(of object: RecordKey) -> String {
        "\(entityName(object.entity) ?? "an object") \(object.number)"
    }

    /// The name of an entity; nil if the model has no entity of this number.
    func entityName(_ number: Int) -> String? {
        model.entities.indices.contains(number) ? model.entities[number].name : nil
    }
}
