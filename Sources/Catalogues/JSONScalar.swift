package import Values

/// A value of a flat JSON object.
package enum JSONScalar: Decodable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Nil for null.
    package var type: ValueType? {
        switch self {
        case .null: nil
        case .boolean: .boolean
        case .integer: .integer
        case .double: .double
        case .string: .string
        }
    }

    /// As a catalogue's field would have it.
    package var text: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): Value.double(value).description
        case .string(let value): value
        }
    }

    /// As an attribute's value; nil when it does not fit the type.
    package func value(as type: ValueType) -> Value? {
        switch self {
        case .null: .null
        case .string(let text): Value(text, as: type)
        case .boolean, .integer, .double: type == .string ? nil : Value(text, as: type)
        }
    }
}
