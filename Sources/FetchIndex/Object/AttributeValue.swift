public import FetchIndexEssentials

public import FetchIndexPredicates

/// A Swift type whose values attributes can have. The type of an `@Attribute` property must conform to this protocol:
///
/// - an enumeration with raw values only declares the conformance: `enum Genre: String, AttributeValue, CaseIterable`;
/// - another type that is `Codable` conforms to ``CodableAttributeValue`` and is stored as JSON text.
public protocol AttributeValue: PredicateArgument {
    /// The type in which values are stored.
    static var valueType: ValueType { get }
    /// Whether the type can represent null.
    static var isOptional: Bool { get }
    /// The value of a new object's attribute before it is set: "", 0, false, the reference date, nil or another neutral
    /// value. If the type has no placeholder, reading such an attribute before it is set traps or throws.
    static var placeholder: Self? { get }

    /// Converts a stored value. Returns nil if the value has another type, or if this type can't represent the value.
    init?(attributeValue: Value)
    var attributeValue: Value { get }
}

extension AttributeValue {
    public static var isOptional: Bool { false }
    public static var placeholder: Self? { nil }
    public var predicateValue: PredicateValue { .one(attributeValue) }

    fileprivate init?(stored value: Self?) {
        guard let value else { return nil }
        self = value
    }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    public static var valueType: ValueType { Wrapped.valueType }
    public static var isOptional: Bool { true }
    public static var placeholder: Wrapped?? { .some(nil) }

    public init?(attributeValue value: Value) {
        if value.isNull {
            self = .none
        } else {
            guard let wrapped = Wrapped(attributeValue: value) else { return nil }
            self = wrapped
        }
    }

    public var attributeValue: Value { map(\.attributeValue) ?? .null }
}

extension String: AttributeValue {
    public static var valueType: ValueType { .string }
    public static var placeholder: String? { "" }
    public init?(attributeValue value: Value) { self.init(stored: value.stringValue) }
    public var attributeValue: Value { .string(self) }
}

extension Bool: AttributeValue {
    public static var valueType: ValueType { .boolean }
    public static var placeholder: Bool? { false }
    public init?(attributeValue value: Value) { self.init(stored: value.booleanValue) }
    public var attributeValue: Value { .boolean(self) }
}

extension Double: AttributeValue {
    public static var valueType: ValueType { .double }
    public static var placeholder: Double? { 0 }
    public init?(attributeValue value: Value) { self.init(stored: value.doubleValue) }
    public var attributeValue: Value { .double(self) }
}

extension AttributeValue where Self: FixedWidthInteger {
    public static var valueType: ValueType { .integer }
    public static var placeholder: Self? { 0 }
    public init?(attributeValue value: Value) {
        guard case .integer(let number) = value else { return nil }
        self.init(exactly: number)
    }
    /// The value to be stored. Traps if the number doesn't fit in an `Int64`.
    public var attributeValue: Value {
        guard let number = Int64(exactly: self) else {
            preconditionFailure("\(self) does not fit an attribute: integers are stored as signed 64-bit numbers.")
        }
        return .integer(number)
    }
}

extension Int: AttributeValue {}
extension Int64: AttributeValue {}
extension Int32: AttributeValue {}
extension Int16: AttributeValue {}
extension Int8: AttributeValue {}
extension UInt: AttributeValue {}
extension UInt64: AttributeValue {}
extension UInt32: AttributeValue {}
extension UInt16: AttributeValue {}
extension UInt8: AttributeValue {}

/// A float is stored as a double.
extension Float: AttributeValue {
    public static var valueType: ValueType { .double }
    public static var placeholder: Float? { 0 }
    public init?(attributeValue value: Value) {
        guard case .double(let number) = value else { return nil }
        self = Float(number)
    }
    public var attributeValue: Value { .double(Double(self)) }
}

/// An enumeration, or another type with raw values, is stored as its raw value.
extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    public static var valueType: ValueType { RawValue.valueType }
    public init?(attributeValue value: Value) {
        guard let raw = RawValue(attributeValue: value) else { return nil }
        self.init(rawValue: raw)
    }
    public var attributeValue: Value { rawValue.attributeValue }
}

/// A type that is stored as JSON text. Predicates and sort keys treat that text as a whole, and can't access its
/// properties.
public protocol CodableAttributeValue: AttributeValue, Codable {}

extension CodableAttributeValue {
    public static var valueType: ValueType { .string }

    public init?(attributeValue value: Value) {
        guard case .string(let text) = value,
            let decoded = try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
        else { return nil }
        self = decoded
    }

    /// The value as JSON text, with JSON keys sorted by name, so that the order in which properties are encoded doesn't
    /// change the text. Traps if the value can't be encoded.
    public var attributeValue: Value {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return .string(String(decoding: try encoder.encode(self), as: UTF8.self)) } catch {
            preconditionFailure("\(self) cannot be stored as JSON: \(error)")
        }
    }
}

/// A list of attribute values is stored as JSON text.
extension Array: AttributeValue where Element: Codable & AttributeValue {}
extension Array: CodableAttributeValue where Element: Codable & AttributeValue {
    public static var placeholder: [Element]? { [] }
}

extension Decimal: AttributeValue {
    public static var valueType: ValueType { .decimal }
    public static var placeholder: Decimal? { 0 }
    public init?(attributeValue value: Value) { self.init(stored: value.decimalValue) }
    public var attributeValue: Value { .decimal(self) }
}

extension Date: AttributeValue {
    public static var valueType: ValueType { .date }
    public static var placeholder: Date? { Date(timeIntervalSinceReferenceDate: 0) }
    public init?(attributeValue value: Value) { self.init(stored: value.dateValue) }
    public var attributeValue: Value { .date(self) }
}

extension Data: AttributeValue {
    public static var valueType: ValueType { .data }
    public static var placeholder: Data? { Data() }
    public init?(attributeValue value: Value) { self.init(stored: value.dataValue) }
    public var attributeValue: Value { .data(self) }
}

extension UUID: AttributeValue {
    public static var valueType: ValueType { .uuid }
    public static var placeholder: UUID? { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    public init?(attributeValue value: Value) { self.init(stored: value.uuidValue) }
    public var attributeValue: Value { .uuid(self) }
}

extension URL: AttributeValue {
    public static var valueType: ValueType { .url }
    public static var placeholder: URL? { URL(fileURLWithPath: "/") }
    public init?(attributeValue value: Value) { self.init(stored: value.urlValue) }
    public var attributeValue: Value { .url(self) }
}
