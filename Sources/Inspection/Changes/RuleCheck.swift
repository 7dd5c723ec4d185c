package import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// The rules that a transaction must keep.
package struct RuleCheck {
    /// The number of sections that a sentence names.
    private static let mostNamed = 3

    private let rules: [ChangeRule]
    private let entity: String
    private let container: PersistentContainer
    /// The requests of the caches that the rules name.
    private let definitions: [String: OrderDefinition]

    /// Reads the requests of the caches that the rules name. `entity` is the one whose objects the transaction changes.
    /// Throws if a cache doesn't exist, if its request can't be read, or if it lacks an aggregate.
    package init(_ rules: [ChangeRule], changing entity: String, in container: PersistentContainer) throws {
        (self.rules, self.entity, self.container) = (rules, entity, container)
        var definitions: [String: OrderDefinition] = [:]
        let state = try container.pinnedState()
        for rule in rules {
            guard let cache = rule.cache else { continue }
            if definitions[cache] == nil {
                switch try state.request(ofCache: cache) {
                case nil: throw try container.unknownCache(cache)
                case .unusable(let reason): throw Unusable(rule: rule, reason: "cannot be used (\(reason.rawValue))")
                case .readable(let request): definitions[cache] = try request.definition()
                }
            }
            if case .aggregate(let aggregate, _, _) = rule.measure,
                definitions[cache]?.aggregates.contains(aggregate) == false
            {
                throw Unusable(rule: rule, reason: "doesn't keep \(aggregate); fetch it with this aggregate first")
            }
            if rule.isOfSections, definitions[cache]?.sectionKey == nil {
                throw Unusable(rule: rule, reason: "has no sections")
            }
        }
        self.definitions = definitions
    }

    /// A cache that a rule names, but can't use.
    package struct Unusable: Error, CustomStringConvertible {
        let rule: ChangeRule
        let reason: String

        package var description: String {
            "the rule \"\(rule.text.visible)\" cannot be checked: the cache \"\(rule.cache ?? "")\" \(reason)"
        }
    }

    /// The rules that a transaction breaks, as sentences with the figures. Costs as much as the previews of the orders
    /// that the rules name, and O(s log n) for rules of sections in which s sections change. `orders` are previews that
    /// are known already, by cache. If a cache is damaged, its order is computed instead.
    package func broken(by preview: BatchPreview, _ orders: [String: OrderPreview] = [:]) throws -> [String] {
        do {
            return try broken(CheckedOrders(preview, definitions, usesCaches: true, orders))
        } catch  where error.isDamage {
            return try broken(CheckedOrders(preview, definitions, usesCaches: false))
        }
    }

    private func broken(_ orders: CheckedOrders) throws -> [String] {
        try rules.compactMap { rule in
            let reason: String?
            switch rule.measure {
            case .objects(let kind): reason = try broken(rule.limit, kind, orders.counts())
            case .rows(let cache, let verb):
                let summary = try orders.summary(cache)
                reason = rule.limit.broken(
                    by: .integer(Int64(summary.rowsBefore)), .integer(Int64(summary.rowsAfter)), verb, "rows")
            case .aggregate(let aggregate, let cache, let verb):
                let (before, after) = (try orders.before(cache), try orders.preview(cache).order)
                reason = rule.limit.broken(
                    by: try before.aggregate(aggregate, inRows: 0..<before.rowCount),
                    try after.aggregate(aggregate, inRows: 0..<after.rowCount), verb, "")
            case .eachSection(let cache, let verb):
                let (summary, titles) = try (orders.summary(cache), titles(cache, orders.preview(cache)))
                reason = Self.listed(
                    summary.sections.compactMap { section in
                        // A new section has no former rows.
                        if section.from == nil { return nil }
                        return rule.limit.broken(
                            by: .integer(Int64(section.rowsBefore)), .integer(Int64(section.rowsAfter)), verb, "rows"
                        ).map { "\(Self.name(section, titles)): \($0)" }
                    }, separator: "; ")
            case .noSectionDisappears(let cache):
                let (summary, titles) = try (orders.summary(cache), titles(cache, orders.preview(cache)))
                reason = Self.listed(
                    summary.sections.filter { $0.to == nil }.map {
                        "\(Self.name($0, titles)) with \(Numbers.count($0.rowsBefore, "row"))"
                    }, separator: ", "
                ).map { "gone would be \($0)" }
            }
            return reason.map { "the rule \"\(rule.text.visible)\" is broken: \($0)" }
        }
    }

    private func titles(_ cache: String, _ preview: OrderPreview) -> SectionTitles {
        SectionTitles(definitions[cache]?.sectionKey, preview.order)
    }

    private static func name(_ section: ChangeSummary.Section, _ titles: SectionTitles) -> String {
        section.isNull ? "the section without a value" : "\"\(titles.title(section.name).visible)\""
    }

    /// The first parts as a list; nil for no parts.
    private static func listed(_ parts: [String], separator: String) -> String? {
        if parts.isEmpty { return nil }
        let rest = parts.count > mostNamed ? "\(separator)and \(Numbers.grouped(parts.count - mostNamed)) more" : ""
        return parts.prefix(mostNamed).joined(separator: separator) + rest
    }

    private func broken(_ limit: ChangeRule.Limit, _ kind: ChangeRule.Kind, _ counts: BatchWriter.Counts) throws
        -> String?
    {
        let count =
            switch kind {
            case .inserted: counts.inserted
            case .updated: counts.updated
            case .deleted: counts.deleted
            }
        // The transaction may add the entity.
        let isStored = try container.model().entity(named: entity) != nil
        let objects = try isStored ? container.count(ofEntity: entity) : 0
        if limit.allows(Decimal(count), of: Decimal(objects)) { return nil }
        return "\(Numbers.grouped(count)) of \(Numbers.count(objects, "object")) would be \(kind.rawValue)"
    }
}

extension ChangeRule.Limit {
    /// Says by how much a number would change, if the limit doesn't allow it.
    fileprivate func broken(by before: Value, _ after: Value, _ verb: ChangeRule.Verb, _ unit: String) -> String? {
        if before == after { return nil }
        let unit = unit.isEmpty ? "" : " \(unit)"
        let told = "\(before.ofRule)\(unit) would become \(after.ofRule)"
        if let old = before.exact, let new = after.exact {
            if allows(verb.difference(from: old, to: new), of: old) { return nil }
        } else if let old = before.double, let new = after.double {
            if allows(verb.difference(from: old, to: new), of: old) { return nil }
        }
        guard let old = before.double, let new = after.double, old != 0, new.isFinite else { return told }
        let share = ((new - old).magnitude / old.magnitude * 100)
        return share < 1e12 ? "\(told), \(Self.shown(share)) % \(new < old ? "less" : "more")" : told
    }

    /// A share with up to three digits after the point, as many as it needs.
    private static func shown(_ share: Double) -> String {
        var text = Numbers.rounded(share, places: 3)
        while text.hasSuffix("0"), !text.hasSuffix(".0") { text.removeLast() }
        return text
    }
}

extension ChangeRule.Verb {
    /// The difference that counts for the limit; negative if the number changes the other way.
    fileprivate func difference<Number: SignedNumeric & Comparable>(from old: Number, to new: Number) -> Number {
        switch self {
        case .changes: max(new - old, old - new)
        case .grows: new - old
        case .shrinks: old - new
        }
    }
}

extension Value {
    /// The number of an integer or a decimal.
    fileprivate var exact: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .decimal(let value): value
        default: nil
        }
    }

    fileprivate var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): Double("\(value)")
        case .date(let value): value.timeIntervalSince1970
        default: nil
        }
    }

    fileprivate var ofRule: String {
        switch self {
        case .integer(let value): Numbers.grouped(Int(value))
        case .null: "no value"
        default: description
        }
    }
}

/// The orders that rules name, each opened at most once.
private final class CheckedOrders {
    private let preview: BatchPreview
    private let definitions: [String: OrderDefinition]
    private let usesCaches: Bool
    private var previews: [String: OrderPreview]
    private var summaries: [String: ChangeSummary] = [:]
    private var former: [String: FetchedOrder] = [:]
    private var counted: BatchWriter.Counts?

    init(
        _ preview: BatchPreview, _ definitions: [String: OrderDefinition], usesCaches: Bool,
        _ previews: [String: OrderPreview] = [:]
    ) {
        (self.preview, self.definitions, self.usesCaches, self.previews) = (preview, definitions, usesCaches, previews)
    }

    func counts() throws -> BatchWriter.Counts {
        if let counted { return counted }
        let counts = try preview.counts()
        counted = counts
        return counts
    }

    func preview(_ cache: String) throws -> OrderPreview {
        if let known = previews[cache] { return known }
        guard let definition = definitions[cache] else { throw CacheError.unknown(cache) }
        let order = try preview.order(definition, cacheName: usesCaches ? cache : nil)
        previews[cache] = order
        return order
    }

    func summary(_ cache: String) throws -> ChangeSummary {
        if let known = summaries[cache] { return known }
        let order = try preview(cache)
        let summary = try order.order.summary(of: order.change)
        summaries[cache] = summary
        return summary
    }

    func before(_ cache: String) throws -> FetchedOrder {
        if let known = former[cache] { return known }
        let order = try preview(cache).before()
        former[cache] = order
        return order
    }
}
