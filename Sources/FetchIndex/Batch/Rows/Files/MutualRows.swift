internal import FetchIndexModels

/// What the rows of an import say about links of relationships that are their own inverses. The rows of both objects may
/// name a link, or one of them alone. So a link stays if either row names it, and goes only at the end of the import, if a
/// row leaves it out and the other object's row, if any, does too. Otherwise, a second import of a file would change links.
///
/// Takes some 100 bytes for each row with such links, and some 100 for each link.
final class MutualRows {
    /// An object of a relationship.
    private struct Side: Hashable {
        let relationship: EntityLinks.Name
        let object: RecordKey
    }

    /// A stored link that a row leaves out.
    struct Omission {
        let column: RelatedColumn
        let near: RecordKey
        let far: RecordKey
    }

    private var named: [Side: Set<RecordKey>] = [:]
    /// In to-one relationships, the objects whose rows name an object.
    private var namers: [Side: Set<RecordKey>] = [:]
    private var omitted: [Side: [Omission]] = [:]
    /// Objects whose rows are counted as unchanged.
    private(set) var unchanged: Set<RecordKey> = []

    /// The objects that the transaction has inserted, with their columns.
    private var inserted: [(object: RecordKey, columns: [RelatedColumn])] = []

    func noteInserted(_ object: RecordKey, _ columns: [RelatedColumn]) { inserted.append((object, columns)) }

    func noteCommitted() { inserted = [] }

    /// Forgets what the rows of objects say that the transaction had inserted. These rows may be written again, as objects
    /// with other numbers.
    func forgetInserted() {
        for (object, columns) in inserted {
            for column in columns where column.isMutual { note(object, column, naming: [], omitting: []) }
            unchanged.remove(object)
        }
        inserted = []
    }

    /// Notes what the last row of an object says.
    func note(
        _ object: RecordKey, _ column: RelatedColumn, naming objects: Set<RecordKey>, omitting others: [RecordKey]
    ) {
        let side = Side(relationship: column.reference.name, object: object)
        if column.kind == .one {
            for former in named[side] ?? [] {
                namers[Side(relationship: column.reference.name, object: former)]?.remove(object)
            }
            for other in objects {
                namers[Side(relationship: column.reference.name, object: other), default: []].insert(object)
            }
        }
        named[side] = objects.isEmpty ? nil : objects
        omitted[side] = others.isEmpty ? nil : others.map { Omission(column: column, near: object, far: $0) }
    }

    func noteUnchanged(_ object: RecordKey) { if !omitted.isEmpty { unchanged.insert(object) } }

    /// Whether the row of an object names another one.
    func names(_ object: RecordKey, _ column: RelatedColumn, _ other: RecordKey) -> Bool {
        named[Side(relationship: column.reference.name, object: object)]?.contains(other) ?? false
    }

    /// The pair, if any, in which another row has put one of two objects of a to-one relationship with a third one. The first
    /// object is nil if its number isn't known yet.
    func otherPair(
        than object: RecordKey?, _ target: RecordKey, _ column: RelatedColumn
    ) -> (RecordKey, RecordKey)? {
        func side(_ object: RecordKey) -> Side { Side(relationship: column.reference.name, object: object) }
        if let other = named[side(target)]?.first(where: { $0 != object }) { return (target, other) }
        if let other = namers[side(target)]?.first(where: { $0 != object }) { return (other, target) }
        guard let object, let other = namers[side(object)]?.first(where: { $0 != target }) else { return nil }
        return (other, object)
    }

    /// Returns the links that go, and forgets all rows.
    func takeOmissions() -> [Omission] {
        let gone = omitted.values.flatMap { $0 }.filter { !names($0.far, $0.column, $0.near) }
        (named, namers, omitted) = ([:], [:], [:])
        return gone.sorted { ($0.near, $0.far) < ($1.near, $1.far) }
    }
}
