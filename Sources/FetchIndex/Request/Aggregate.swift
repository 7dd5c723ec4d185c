internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexValues

/// The function that an aggregate applies to an attribute's values.
public enum AggregateFunction: String, Hashable, Sendable, CaseIterable {
    /// The number of values that aren't null; for attributes of all types.
    case count
    /// The sum; for integers, doubles and decimals.
    case sum
    /// The least value; for integers, doubles, decimals and dates. NaN is greater than all other values.
    case min
    /// The greatest value; for the types of `min`.
    case max
    /// The average; for the types of `sum`.
    case average
    /// The fingerprint of the rows' attributes. It belongs to no single attribute: see `Aggregate.fingerprint`.
    case fingerprint

    var needsSum: Bool { self == .sum || self == .average }
    var needsExtremes: Bool { self == .min || self == .max }

    /// The result to compute from an attribute's column; nil for a fingerprint.
    var result: AggregateColumns.Result? {
        switch self {
        case .fingerprint: nil
        case .count: .count
        case .sum: .total
        case .min: .minimum
        case .max: .maximum
        case .average: .average
        }
    }
}

/// A value that an order maintains for the rows of each section, and of any range of rows: the sum of an attribute's
/// values, for example. Reading it costs O(log n).
///
/// Nulls are ignored. Sums are exact: they depend neither on the order of rows nor on the history of a cache.
///
/// - The sum of integers is an integer, or a decimal if it exceeds 64 bits.
/// - The sum of decimals is exact, rounded once if it needs more digits than a decimal has.
/// - The sum of doubles is exact, rounded once to the nearest double (Neal, Fast exact summation using small and large
///   superaccumulators, 2015).
///
/// An average is the exact sum divided by the count, and rounded once. It is a decimal for decimals, otherwise a
/// double. If all values are null, or the range is empty, a sum and a count are zero, and other aggregates are null.
public struct Aggregate<Object: ManagedObject>: Hashable, Sendable {
    public let function: AggregateFunction
    /// The attribute's name; empty for a fingerprint.
    public let attribute: String

    public init(_ function: AggregateFunction, _ attribute: String) {
        self.function = function
        self.attribute = attribute
    }

    /// Makes an aggregate of an attribute. Like the functions below, traps unless the key path is that of an
    /// `@Attribute`.
    public init<Wrapped: AttributeValue>(_ function: AggregateFunction, _ keyPath: KeyPath<Object, Wrapped>) {
        self.init(function, Object.attributeName(of: keyPath))
    }

    public static func count(_ attribute: String) -> Aggregate { Aggregate(.count, attribute) }
    public static func sum(_ attribute: String) -> Aggregate { Aggregate(.sum, attribute) }
    public static func min(_ attribute: String) -> Aggregate { Aggregate(.min, attribute) }
    public static func max(_ attribute: String) -> Aggregate { Aggregate(.max, attribute) }
    public static func average(_ attribute: String) -> Aggregate { Aggregate(.average, attribute) }

    public static func count(_ keyPath: KeyPath<Object, some AttributeValue>) -> Aggregate {
        Aggregate(.count, keyPath)
    }
    public static func sum(_ keyPath: KeyPath<Object, some AttributeValue>) -> Aggregate { Aggregate(.sum, keyPath) }
    public static func min(_ keyPath: KeyPath<Object, some AttributeValue>) -> Aggregate { Aggregate(.min, keyPath) }
    public static func max(_ keyPath: KeyPath<Object, some AttributeValue>) -> Aggregate { Aggregate(.max, keyPath) }
    public static func average(_ keyPath: KeyPath<Object, some AttributeValue>) -> Aggregate {
        Aggregate(.average, keyPath)
    }

    /// The fingerprint of the rows: 32 hexadecimal digits. Two sets of rows with the same attributes have the same
    /// fingerprint if their values are equal, and otherwise with a probability of 2^-128. It doesn't depend on the order of
    /// the rows, on their history or on the store, so it shows whether two stores have the same rows. Names and types of
    /// attributes, the entity and relationships aren't part of it. Keeping it costs 16 bytes a row, and a SHA-256 digest
    /// for each row that is placed.
    ///
    /// Algorithm: the sum, modulo 2^128, of the first 16 bytes of the digest of each row, as described in
    /// <doc:Fingerprints>. It finds accidents. It doesn't protect against people who choose values in order to keep it the
    /// same.
    public static var fingerprint: Aggregate { Aggregate(.fingerprint, "") }

    /// The aggregate without its object class.
    var untyped: Aggregate<ManagedObject> { Aggregate<ManagedObject>(function, attribute) }

    /// Throws `RequestError` if the function doesn't support the attribute's type.
    func requireFit(_ type: ValueType, in entity: Entity) throws {
        let isNumber = type == .integer || type == .double || type == .decimal
        if isNumber || function == .count || function.needsExtremes && type == .date { return }
        let wanted = function.needsSum ? "numbers" : "numbers or dates"
        throw RequestError.wrongType(
            "\(self) needs \(wanted), but \(entity.name).\(attribute) is \(type.nameWithArticle)")
    }
}

extension Aggregate: CustomStringConvertible {
    /// The form FUNCTION(ATTRIBUTE), or `fingerprint`. The tool reads it too.
    public var description: String {
        function == .fingerprint ? function.rawValue : "\(function.rawValue)(\(RequestText.quoted(attribute)))"
    }

    /// Parses the form of `description`; `avg` is accepted too. Throws `RequestError`.
    public init(parsing text: String) throws {
        if text == AggregateFunction.fingerprint.rawValue {
            self = .fingerprint
            return
        }
        guard let call = RequestText.call(text), call.arguments.count == 1, let attribute = call.arguments.first,
            !attribute.isEmpty, let function = AggregateFunction(rawValue: call.name == "avg" ? "average" : call.name),
            function != .fingerprint
        else {
            throw RequestError.malformed(
                "an aggregate is count(KEY), sum(KEY), min(KEY), max(KEY), average(KEY) or fingerprint, not \"\(text)\""
            )
        }
        self.init(function, RequestText.unquoted(attribute))
    }

    /// Parses aggregates separated by commas. Throws `RequestError`.
    public static func list(parsing text: String) throws -> [Aggregate] {
        text.isEmpty ? [] : try RequestText.split(text, at: ",").map { try Aggregate(parsing: $0) }
    }
}

extension AggregateColumns {
    /// The index of the column that contains an aggregate's value; nil if the request doesn't have the aggregate.
    func index(for function: AggregateFunction, of attribute: String) -> Int? {
        index(of: attribute, keepsSum: function.needsSum, keepsExtremes: function.needsExtremes)
    }

    /// Whether summaries contain an aggregate.
    func contains(_ aggregate: Aggregate<some ManagedObject>) -> Bool {
        if aggregate.function == .fingerprint { return hasFingerprint }
        return index(for: aggregate.function, of: aggregate.attribute) != nil
    }

    /// Reads an aggregate's value from the summary of some rows, which begins at the offset `start` of `summary`. Throws
    /// `RequestError` if the request doesn't have the aggregate.
    func value(
        of aggregate: Aggregate<some ManagedObject>, in summary: [UInt8], from start: Int = 0
    ) throws -> Value {
        if let result = aggregate.function.result {
            if let index = index(for: aggregate.function, of: aggregate.attribute) {
                return try value(result, at: index, of: summary, from: start)
            }
        } else if hasFingerprint {
            return .string(try fingerprint(of: summary, from: start).description)
        }
        throw RequestError.malformed("the request has no aggregate \(aggregate)")
    }
}

extension OrderDefinition {
    /// The columns that the aggregates need, one for each attribute, in the order of permanent names.
    func aggregateColumns(of entity: Entity) throws -> AggregateColumns {
        if aggregates.isEmpty { return .none }
        var wanted: [Int: [Aggregate<ManagedObject>]] = [:]
        for aggregate in aggregates where aggregate.function != .fingerprint {
            let slot = try entity.requireSlot(of: aggregate.attribute)
            try aggregate.requireFit(entity.attribute(at: slot).type, in: entity)
            wanted[slot, default: []].append(aggregate)
        }
        let slots = wanted.keys.sorted { entity.slots[$0].permanentName < entity.slots[$1].permanentName }
        let columns = AggregateColumns(
            slots.map { slot in
                let attribute = entity.attribute(at: slot)
                let own = wanted[slot] ?? []
                let former = Set(own.map(\.attribute)).subtracting([attribute.name]).sorted()
                return AggregateColumns.Column(
                    [attribute.name] + former,
                    SummaryForm(
                        attribute.type, keepsSum: own.contains(where: \.function.needsSum),
                        keepsExtremes: own.contains(where: \.function.needsExtremes)))
            }, hasFingerprint: keepsFingerprint)
        guard columns.maximumLength <= AggregateColumns.greatestLength else {
            throw RequestError.malformed(
                "the aggregates of the request need up to \(columns.maximumLength) bytes a section, but at "
                    + "most \(AggregateColumns.greatestLength) are allowed: a sum or average of a double takes up to 292, "
                    + "of a decimal 156, of an integer 28")
        }
        return columns
    }

    /// Whether the order keeps a fingerprint of its rows.
    var keepsFingerprint: Bool { aggregates.contains { $0.function == .fingerprint } }

    /// The text that describes the columns in a cache's identity: their layout and, after a blank, the attributes'
    /// permanent names.
    func aggregatesKept(_ columns: AggregateColumns, of entity: Entity) throws -> String {
        if columns.isEmpty { return "" }
        let names = try columns.columns.map { column in
            RequestText.quoted(entity.slots[try entity.requireSlot(of: column.names[0])].permanentName)
        }
        return columns.layout + " " + names.joined(separator: ",")
    }
}
