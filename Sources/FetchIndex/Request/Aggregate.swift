internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexValues

/// What an aggregate is of the values of an attribute.
public enum AggregateFunction: String, Hashable, Sendable, CaseIterable {
    /// Of the rows whose value is not null; for attributes of all types.
    case count
    /// For integers, doubles and decimals.
    case sum
    /// The least value, for integers, doubles, decimals and dates; NaN is greater than all others.
    case min
    /// The greatest value; as `min`.
    case max
    /// As `sum`.
    case average

    var needsSum: Bool {
        switch self {
        case .sum, .average: true
        case .count, .min, .max: false
        }
    }

    var needsExtremes: Bool {
        switch self {
        case .min, .max: true
        case .count, .sum, .average: false
        }
    }

    var result: AggregateColumns.Result {
        switch self {
        case .count: .count
        case .sum: .total
        case .min: .minimum
        case .max: .maximum
        case .average: .average
        }
    }
}

/// A value of all rows of a section, or of any range of rows, which an order keeps up to date: reading it costs what reading
/// a section costs.
///
/// Null values are left out. Sums are exact: neither the order of rows nor how a cache came about changes them.
///
/// - Integers add up to an integer, or to a decimal where 64 bits are too few.
/// - Decimals add up to the exact sum, rounded once where it takes more digits than a decimal has.
/// - Doubles add up to the exact sum, rounded once to the nearest double (Neal, Fast exact summation using small and large
///   superaccumulators, 2015).
///
/// An average is the exact sum divided by the count and rounded once: of decimals a decimal, else a double. Without values a sum and
/// a count are zero, all others null.
public struct Aggregate<Object: ManagedObject>: Hashable, Sendable {
    public let function: AggregateFunction
    public let attribute: String

    public init(_ function: AggregateFunction, _ attribute: String) {
        self.function = function
        self.attribute = attribute
    }

    /// Traps unless the key path names an `@Attribute` of the object; so do the functions below.
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

    /// The same for objects of any class.
    var untyped: Aggregate<ManagedObject> { Aggregate<ManagedObject>(function, attribute) }

    /// Throws `RequestError` when values of a type cannot be aggregated so.
    func requireFit(_ type: ValueType, in entity: Entity) throws {
        let isNumber = type == .integer || type == .double || type == .decimal
        if isNumber || function == .count || function.needsExtremes && type == .date { return }
        let wanted = function.needsSum ? "numbers" : "numbers or dates"
        throw RequestError.wrongType(
            "\(self) needs \(wanted), and \(entity.name).\(attribute) is \(type.nameWithArticle)")
    }
}

extension Aggregate: CustomStringConvertible {
    /// FUNCTION(ATTRIBUTE), as the tool reads it.
    public var description: String { "\(function.rawValue)(\(RequestText.quoted(attribute)))" }

    /// Parses the form of `description`; `avg` is accepted too. Throws `RequestError`.
    public init(parsing text: String) throws {
        guard let call = RequestText.call(text), call.arguments.count == 1, let attribute = call.arguments.first,
            !attribute.isEmpty, let function = AggregateFunction(rawValue: call.name == "avg" ? "average" : call.name)
        else {
            throw RequestError.malformed(
                "an aggregate is count(KEY), sum(KEY), min(KEY), max(KEY) or average(KEY), not \"\(text)\"")
        }
        self.init(function, RequestText.unquoted(attribute))
    }

    /// Parses aggregates that are separated by commas. Throws as above.
    public static func list(parsing text: String) throws -> [Aggregate] {
        text.isEmpty ? [] : try RequestText.split(text, at: ",").map { try Aggregate(parsing: $0) }
    }
}

extension AggregateColumns {
    /// The index of the column that an aggregate is read from; nil when the request has no such aggregate.
    func index(for function: AggregateFunction, of attribute: String) -> Int? {
        index(of: attribute, keepsSum: function.needsSum, keepsExtremes: function.needsExtremes)
    }

    /// An aggregate of the rows of a summary. Throws `RequestError` when the request does not have it.
    func value(of aggregate: Aggregate<ManagedObject>, in summary: [UInt8]) throws -> Value {
        guard let index = index(for: aggregate.function, of: aggregate.attribute) else {
            throw RequestError.malformed("the request has no aggregate \(aggregate)")
        }
        return try value(aggregate.function.result, at: index, of: summary)
    }
}

extension OrderDefinition {
    /// The columns of the aggregates for an entity of a model: one for each attribute, in the order of their permanent names.
    func aggregateColumns(of entity: Entity) throws -> AggregateColumns {
        if aggregates.isEmpty { return .none }
        var wanted: [Int: [Aggregate<ManagedObject>]] = [:]
        for aggregate in aggregates {
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
            })
        guard columns.maximumLength <= AggregateColumns.greatestLength else {
            throw RequestError.malformed(
                "the aggregates of a request may take \(columns.maximumLength) bytes a section, and "
                    + "\(AggregateColumns.greatestLength) is the most: a sum or average of a double takes up to 283, "
                    + "of a decimal 147, of an integer 19")
        }
        return columns
    }

    /// What a cache's identity says of the columns: their layout and, after a blank, the permanent names of their attributes.
    func aggregatesKept(_ columns: AggregateColumns, of entity: Entity) throws -> String {
        if columns.isEmpty { return "" }
        let names = try columns.columns.map { column in
            RequestText.quoted(entity.slots[try entity.requireSlot(of: column.names[0])].permanentName)
        }
        return columns.layout + " " + names.joined(separator: ",")
    }
}
