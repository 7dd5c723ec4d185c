internal import FetchIndexEssentials

/// A value of JSON. SwiftData writes the members of objects in no fixed order; in a sorted order, equal values are equal
/// bytes.
enum SortedJSON: Codable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([SortedJSON])
    case object([String: SortedJSON])

    /// The bytes with the members of all objects sorted by their names; the same bytes if they aren't JSON, or have no
    /// objects.
    static func sorted(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.first, first == UInt8(ascii: "[") || first == UInt8(ascii: "{"),
            bytes.contains(UInt8(ascii: "{")), let value = try? JSONDecoder().decode(Self.self, from: Data(bytes))
        else { return bytes }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? bytes
    }

    init(from decoder: any Decoder) throws {
        if let members = try? [String: SortedJSON](from: decoder) {
            self = .object(members)
            return
        }
        if let elements = try? [SortedJSON](from: decoder) {
            self = .list(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members): try members.encode(to: encoder)
        case .list(let elements): try elements.encode(to: encoder)
        case .text(let value): try value.encode(to: encoder)
        case .integer(let value): try value.encode(to: encoder)
        case .number(let value): try value.encode(to: encoder)
        case .boolean(let value): try value.encode(to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        }
    }
}
