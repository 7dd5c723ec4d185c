internal import FetchIndexValues
package import FetchIndexModels
/// The identity (fingerprint) of an order: what determines it besides the records, as canonical texts. A cache is valid
/// for exactly one identity. The texts are readable, and the request can be parsed from them, except a computed section
/// key. They contain the permanent names of attributes, so that renaming an attribute doesn't change the identity.
package struct CacheIdentity: Sendable {
    /// The permanent name of the entity.
    package var entity: String
    /// The slots that the order reads, with the raw values of their types: "0:6,3:2". The function `reads` describes
    /// the parts for subentities and related entities.
    package var reads: String
    package var predicate: String
    package var sort: String
    package var section: String
    /// The layout of the summaries and, after a blank, the permanent names of their attributes. Empty without
    /// aggregates.
    package var aggregates: String
    /// The aggregates as the request that built the cache wrote them. Other requests may compute other aggregates from
    /// the same summaries.
    package var aggregateList: String
    /// The versions of the data and rules that the order depends on (collators, calendars, time zones and FetchIndex
    /// itself), and the names of all entities if the predicate uses `entity`.
    package var collation: String

    package init(
        entity: String, reads: String, predicate: String, sort: String, section: String, aggregates: String = "",
        aggregateList: String = "", collation: String
    ) {
        self.entity = entity
        self.reads = reads
        self.predicate = predicate
        self.sort = sort
        self.section = section
        self.aggregates = aggregates
        self.aggregateList = aggregateList
        self.collation = collation
    }

    /// The reason for a rebuild, which names the first part in which `wanted` differs from this identity; nil if no
    /// part differs. `aggregateList` isn't compared.
    func difference(from wanted: CacheIdentity) -> RebuildReason? {
        if !Self.areSame(entity, wanted.entity) { return .modelChanged }
        if !Self.areSame(predicate, wanted.predicate) { return .predicateChanged }
        if !Self.areSame(sort, wanted.sort) { return .sortChanged }
        if !Self.areSame(section, wanted.section) { return .sectionKeyChanged }
        if !Self.areSame(aggregates, wanted.aggregates) { return .aggregatesChanged }
        if !Self.areSame(reads, wanted.reads) { return .modelChanged }
        if !Self.areSame(collation, wanted.collation) { return .collationChanged }
        return nil
    }

    /// The order's shape, for reading the order without its request. Throws if the layout of its summaries is
    /// malformed.
    func shapeForReading(hasHeadings: Bool) throws -> OrderShape {
        var columns = AggregateColumns.none
        if !aggregates.isEmpty {
            guard let found = AggregateColumns(layout: aggregates.prefix { $0 != " " }) else {
                throw SectionedOrder.corrupted("the layout of its summaries is malformed")
            }
            columns = found
        }
        return try OrderShape(hasSections: !section.isEmpty, hasHeadings: hasHeadings, aggregates: columns)
    }

    /// Compares the texts' bytes, because canonically equivalent texts are different values.
    private static func areSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

    /// The text of `reads`: the slots that the order reads of its entity, followed by the slots of each included
    /// subentity after its number: "0:6,3:2;4=0:6,5:2". If subentities are excluded, a hyphen follows: "0:6,3:2;-".
    /// Slots of related entities are at the end, each with its entity's number: "0:6,3:2|7.0:6,7.2:2".
    package static func reads(
        _ slots: [Int], of entity: Entity, _ subentities: [(Int, Entity, [Int])], includesSubentities: Bool,
        related: [Int: Set<Int>] = [:], in model: Model? = nil
    ) -> String {
        func list(_ slots: [Int], _ entity: Entity) -> String {
            slots.map { part($0, entity) }.joined(separator: ",")
        }
        let others = subentities.sorted { $0.0 < $1.0 }.map { ";\($0.0)=\(list($0.2, $0.1))" }
        let own = list(slots, entity) + (includesSubentities ? others.joined() : ";-")
        guard let model, !related.isEmpty else { return own }
        let paths = related.sorted { $0.key < $1.key }.flatMap { number, slots in
            slots.isEmpty
                ? ["\(number).\(noSlot)"] : slots.sorted().map { "\(number).\(part($0, model.entities[number]))" }
        }
        return own + "|" + paths.joined(separator: ",")
    }

    /// The text that replaces a related entity's slots if its records are only tested for existence.
    private static let noSlot = "-"

    /// The part of `reads` for the order's own objects.
    private var readsOfOwn: Substring { reads.prefix { $0 != "|" } }
    /// The part of `reads` for related objects.
    private var readsOfRelated: Substring { reads.drop { $0 != "|" }.dropFirst() }

    /// The related entities whose records the order reads.
    package var relatedEntities: [Int] {
        Set(readsOfRelated.split(separator: ",").compactMap { $0.split(separator: ".").first.flatMap { Int($0) } })
            .sorted()
    }

    /// The entities whose changes may change the order. `number` is the number of the order's own entity.
    func dependencies(_ number: Int) -> [Int] { Set([number] + subentities + relatedEntities).sorted() }

    private static func part(_ slot: Int, _ entity: Entity) -> String {
        "\(slot):\(entity.attribute(at: slot).type.rawValue)"
    }

    /// Whether the order includes objects of subentities, if the entity has any.
    package var includesSubentities: Bool { !readsOfOwn.hasSuffix(";-") }

    /// The numbers of the subentities that the order includes.
    package var subentities: [Int] {
        readsOfOwn.split(separator: ";", omittingEmptySubsequences: false).dropFirst().compactMap { list in
            list.split(separator: "=").first.flatMap { Int($0) }
        }
    }

    /// Whether a model has each slot that the order reads, with the same type, and the same subentities if the order
    /// includes them. If the order keeps a fingerprint, the attributes must also be the same, and in the same order.
    package func canBeRead(from model: Model) -> Bool {
        guard let number = model.number(ofPermanent: entity), hasEntityNames(of: model) else { return false }
        let entity = model.entities[number]
        if includesSubentities, model.hierarchy(of: number).filter({ $0 != number }) != subentities { return false }
        let lists = readsOfOwn.split(separator: ";", omittingEmptySubsequences: false)
        let areRelatedThere = readsOfRelated.split(separator: ",").allSatisfy { text in
            guard let dot = text.firstIndex(of: "."), let number = Int(text[..<dot]) else { return false }
            guard model.entities.indices.contains(number) else { return false }
            let slot = text[text.index(after: dot)...]
            return slot == Self.noSlot || Self.has(slot, model.entities[number])
        }
        guard areRelatedThere else { return false }
        let own = lists.first ?? ""
        return hasMembers(own, entity)
            && zip(lists.dropFirst(), subentities).allSatisfy { list, number in
                model.entities.indices.contains(number)
                    && hasMembers(
                        list.split(separator: "=", omittingEmptySubsequences: false).last ?? "", model.entities[number])
            }
    }

    /// The part of `collation` for a predicate that uses the names of entities.
    package static func entityNames(of model: Model) -> String {
        "entities " + model.entities.filter { !$0.isDropped }.map(\.name).joined(separator: " ")
    }

    /// Whether the entities have the names that they had for the predicate, if it uses them.
    private func hasEntityNames(of model: Model) -> Bool {
        guard collation.contains("entities ") else { return true }
        let names = Self.entityNames(of: model)
        return collation == names || collation.hasPrefix(names + ", ") || collation.hasSuffix(", " + names)
            || collation.contains(", \(names), ")
    }

    /// Whether an entity of the rows has the slots of a list. If the order keeps a fingerprint, they must begin with the
    /// slots of all attributes in the order of the digests.
    private func hasMembers(_ slots: Substring, _ entity: Entity) -> Bool {
        guard Self.has(slots, entity) else { return false }
        if !AggregateColumns.hasFingerprint(layout: aggregates) { return true }
        return slots.split(separator: ",").map(String.init).starts(
            with: entity.digestedSlots.map { Self.part($0, entity) })
    }

    private static func has(_ slots: Substring, _ entity: Entity) -> Bool {
        let live = Set((entity.attributeSlots + entity.relationshipSlots).map { part($0, entity) })
        return slots.split(separator: ",").allSatisfy { live.contains(String($0)) }
    }
}

extension Entity {
    /// The slots of all attributes in the order in which a fingerprint's digests contain their values: sorted by the UTF-8
    /// bytes of their names.
    package var digestedSlots: [Int] {
        attributeSlots.sorted { attribute(at: $0).name.utf8.lexicographicallyPrecedes(attribute(at: $1).name.utf8) }
    }
}

extension CacheIdentity: Equatable {
    package static func == (left: CacheIdentity, right: CacheIdentity) -> Bool { left.difference(from: right) == nil }
}
