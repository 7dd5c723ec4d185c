internal import Values
package import Models
/// Everything that shapes an order, as canonical texts: a cache is valid for exactly one. The texts are readable, and
/// the request can be parsed from them. They have the permanent names of attributes, so that a rename changes nothing.
package struct CacheIdentity: Sendable {
    package var entity: String
    /// The slots of the attributes that the order reads, with the raw values of their types: "0:6,3:2".
    package var reads: String
    package var predicate: String
    package var sort: String
    package var section: String
    /// Versions of what text order and calendar depend on.
    package var collation: String

    package init(
        entity: String, reads: String, predicate: String, sort: String, section: String, collation: String
    ) {
        self.entity = entity
        self.reads = reads
        self.predicate = predicate
        self.sort = sort
        self.section = section
        self.collation = collation
    }

    /// The first part in which a wanted order differs from this one; nil when they are the same.
    func difference(from wanted: CacheIdentity) -> RebuildReason? {
        if !Self.areSame(entity, wanted.entity) { return .modelChanged }
        if !Self.areSame(predicate, wanted.predicate) { return .predicateChanged }
        if !Self.areSame(sort, wanted.sort) { return .sortChanged }
        if !Self.areSame(section, wanted.section) { return .sectionKeyChanged }
        if !Self.areSame(reads, wanted.reads) { return .modelChanged }
        if !Self.areSame(collation, wanted.collation) { return .collationChanged }
        return nil
    }

    /// By bytes: canonically equivalent texts are different values.
    private static func areSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

    /// The text of `reads`, by slot.
    package static func reads(_ slots: Set<Int>, of entity: Entity) -> String {
        slots.sorted().map { part($0, entity) }.joined(separator: ",")
    }

    private static func part(_ slot: Int, _ entity: Entity) -> String {
        "\(slot):\(entity.attribute(at: slot).type.rawValue)"
    }

    /// Whether an entity still has every attribute that the order reads.
    package func canBeRead(from entity: Entity) -> Bool {
        let live = Set(entity.attributeSlots.map { Self.part($0, entity) })
        return reads.split(separator: ",").allSatisfy { live.contains(String($0)) }
    }
}

extension CacheIdentity: Equatable {
    package static func == (left: CacheIdentity, right: CacheIdentity) -> Bool { left.difference(from: right) == nil }
}
