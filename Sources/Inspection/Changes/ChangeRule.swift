internal import FetchIndex
package import FetchIndexEssentials

/// A limit of what a transaction may change, written as a sentence:
///
///     inserted | updated | deleted at most LIMIT
///     rows(CACHE) VERB at most LIMIT
///     FUNCTION(KEY) in CACHE VERB at most LIMIT
///     each section of CACHE VERB at most LIMIT
///     no section of CACHE disappears
///
/// VERB is "changes by", "grows by" or "gains", "shrinks by" or "loses". LIMIT is a number, or a share of the former
/// number, such as 5 %.
package struct ChangeRule: Equatable, Sendable {
    enum Kind: String { case inserted, updated, deleted }

    enum Verb: Equatable { case changes, grows, shrinks }

    enum Measure: Equatable {
        case objects(Kind)
        case rows(cache: String, Verb)
        case aggregate(Aggregate<ManagedObject>, cache: String, Verb)
        case eachSection(cache: String, Verb)
        case noSectionDisappears(cache: String)
    }

    struct Limit: Equatable {
        let number: Decimal
        let isPercent: Bool

        /// Whether a difference from a former number, which may be 0, is within the limit.
        func allows(_ difference: Decimal, of former: Decimal) -> Bool {
            isPercent ? difference * 100 <= number * former.magnitude : difference <= number
        }

        func allows(_ difference: Double, of former: Double) -> Bool {
            let number = Double("\(number)") ?? 0
            return isPercent ? difference * 100 <= number * former.magnitude : difference <= number
        }
    }

    /// The sentence.
    package let text: String
    let measure: Measure
    let limit: Limit

    /// Whether the rule is about the sections of a cache.
    var isOfSections: Bool {
        switch measure {
        case .eachSection, .noSectionDisappears: true
        case .objects, .rows, .aggregate: false
        }
    }

    /// The cache that the rule names, if any.
    package var cache: String? {
        switch measure {
        case .objects: nil
        case .rows(let cache, _), .aggregate(_, let cache, _), .eachSection(let cache, _),
            .noSectionDisappears(let cache):
            cache
        }
    }
}

extension ChangeRule {
    /// A text that isn't a rule.
    package struct Malformed: Error, CustomStringConvertible {
        package let text: String
        let reason: String

        package var description: String { "the rule \"\(text.visible)\" cannot be read: \(reason)" }
    }

    private static let verbs: [(String, Verb)] = [
        (" changes by", .changes), (" grows by", .grows), (" gains", .grows), (" shrinks by", .shrinks),
        (" loses", .shrinks),
    ]

    /// Parses a rule. Throws `Malformed`, and `RequestError` for an aggregate that can't be read.
    package init(parsing text: String) throws {
        self.text = text
        let trimmed = text.trimmingSpaces
        if let cache = trimmed.inside("no section of ", " disappears") {
            (measure, limit) = (.noSectionDisappears(cache: cache), Limit(number: 0, isPercent: false))
            return
        }
        guard let place = trimmed.split(atLast: " at most ") else {
            throw Malformed(text: text, reason: "it needs the words \"at most\" and a number, or \"disappears\"")
        }
        guard let limit = Limit(parsing: place.after) else {
            throw Malformed(
                text: text,
                reason: "\"\(place.after.visible)\" is neither a number such as 1,000 nor a share such as 5 %")
        }
        self.limit = limit
        guard let measure = try Self.measure(place.before) else {
            throw Malformed(
                text: text,
                reason:
                    "before \"at most\" stands, for example, deleted, rows(CACHE) changes by, sum(KEY) in CACHE grows by, or each section of CACHE loses"
            )
        }
        self.measure = measure
    }

    private static func measure(_ text: String) throws -> Measure? {
        if let kind = Kind(rawValue: text) { return .objects(kind) }
        guard let (ending, verb) = verbs.first(where: { text.hasSuffix($0.0) }) else { return nil }
        let subject = String(text.dropLast(ending.count))
        if let cache = subject.inside("rows(", ")") { return .rows(cache: cache, verb) }
        if let cache = subject.inside("each section of ", "") { return .eachSection(cache: cache, verb) }
        guard let place = subject.split(atFirst: ") in "), !place.after.isEmpty else { return nil }
        return .aggregate(try Aggregate(parsing: place.before + ")"), cache: place.after, verb)
    }

    /// Reads the rules of a JSON file: a list of texts. Throws `Malformed` and `RequestError`, and an error that says
    /// why the file can't be read.
    package static func list(inJSON data: Data) throws -> [ChangeRule] {
        try JSONDecoder().decode([String].self, from: data).map { try ChangeRule(parsing: $0) }
    }
}

extension ChangeRule.Limit {
    /// Parses a number such as 1,000 or 2.5, which is a share if a per cent sign follows.
    init?(parsing text: String) {
        var digits = text.trimmingSpaces
        isPercent = digits.hasSuffix("%")
        if isPercent { digits = String(digits.dropLast()).trimmingSpaces }
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        let groups = parts[0].split(separator: ",", omittingEmptySubsequences: false)
        // Commas group three digits each.
        let isGrouped = groups.count == 1 || groups[0].count <= 3 && groups.dropFirst().allSatisfy { $0.count == 3 }
        let isOfDigits = (groups + parts.dropFirst()).allSatisfy { group in
            !group.isEmpty && group.allSatisfy { $0.isASCII && $0.isNumber }
        }
        guard parts.count <= 2, isGrouped, isOfDigits, let number = Decimal(string: digits.filter { $0 != "," }) else {
            return nil
        }
        self.number = number
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// The text between a beginning and an end; nil if it lacks one of them, or if nothing is between them.
    fileprivate func inside(_ beginning: String, _ end: String) -> String? {
        guard hasPrefix(beginning), hasSuffix(end), count > beginning.count + end.count else { return nil }
        return String(dropFirst(beginning.count).dropLast(end.count))
    }

    /// The parts before and after the first occurrence of a separator.
    fileprivate func split(atFirst separator: String) -> (before: String, after: String)? {
        indices.first { self[$0...].hasPrefix(separator) }.map { split(at: $0, separator) }
    }

    fileprivate func split(atLast separator: String) -> (before: String, after: String)? {
        indices.last { self[$0...].hasPrefix(separator) }.map { split(at: $0, separator) }
    }

    private func split(at place: Index, _ separator: String) -> (before: String, after: String) {
        (String(self[..<place]), String(self[place...].dropFirst(separator.count)))
    }
}
