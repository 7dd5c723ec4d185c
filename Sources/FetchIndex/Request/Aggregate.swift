internal import FetchIndexModels
internal import FetchIndexOrderCaches
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
    /// The form FUNCTION(ATTRIBUTE), which the tool also reads.
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

    /// Reads an aggregate's value from the summary of some rows. Throws `RequestError` if the request doesn't have the
    /// aggregate.
    func value(of aggregate: Aggregate<ManagedObject>, in summary: [UInt8]) throws -> Value {
        guard let index = index(for: aggregate.function, of: aggregate.attribute) else {
            throw RequestError.malformed("the request has no aggregate \(aggregate)")
        }
        return try value(aggregate.function.result, at: index, of: summary)
    }
}

extension OrderDefinition {
    /// The columns that the aggregates need, one for each attribute, in the order of permanent names.
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
                "the aggregates of the request need up to \(columns.maximumLength) bytes a section, but at "
                    + "most \(AggregateColumns.greatestLength) are allowed: a sum or average of a double takes up to 292, "
                    + "of a decimal 156, of an integer 28")
        }
        return columns
    }

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
