import FetchIndexModels
import Foundation
import FetchIndexPredicates
import FetchIndexRecords
import FetchIndexValues

/// A line of a table of predicate cases, `PredicateCases/*.tsv`.
struct PredicateCase: CustomStringConvertible, Sendable {
    let place: String
    let object: String
    let format: String
    let arguments: [PredicateValue]
    let expected: String
    let stored: String
    let reason: String

    var description: String { "\(place) \(object): \(format) -- \(reason)" }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("PredicatesTests/PredicateCases")

    static func all() throws -> [PredicateCase] {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".tsv") }
        return try files.sorted().flatMap { file in
            let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            let lines = text.unicodeScalars.split(separator: "\n").map(String.init)
            return try lines.enumerated().dropFirst().map { number, line in
                let fields = line.unicodeScalars.split(separator: "\t", omittingEmptySubsequences: false).map(
                    String.init)
                guard fields.count == 6 else { throw Malformed(place: "\(file):\(number + 1)") }
                let arguments =
                    try fields[2].isEmpty
                    ? []
                    : JSONDecoder().decode(
                        [CaseValue].self, from: Data(fields[2].utf8))
                return PredicateCase(
                    place: "\(file):\(number + 1)", object: fields[0], format: fields[1],
                    arguments: arguments.map(\.value), expected: fields[3], stored: fields[4], reason: fields[5])
            }
        }
    }

    struct Malformed: Error { let place: String }
}

/// The objects that cases are evaluated on.
struct CaseObjects: Decodable {
    let flat: [String: [String: CaseValue]]
    let nested: [String: CaseValue]
    let plain: [String: CaseValue]

    init() throws {
        let data = try Data(contentsOf: PredicateCase.folder.appendingPathComponent("objects.json"))
        self = try JSONDecoder().decode(CaseObjects.self, from: data)
    }

    subscript(name: String) -> PredicateValue? {
        flat[name].map { .dictionary($0.mapValues(\.value)) } ?? nested[name]?.value ?? plain[name]?.value
    }

    /// The entity and the record of a flat object; nil for other objects.
    func stored(_ name: String) throws -> (entity: Entity, record: [UInt8])? {
        guard let object = flat[name] else { return nil }
        let attributes = object.sorted { $0.key < $1.key }
        let entity = Entity(name, attributes.map { AttributeDescription($0.key, $0.value.type ?? .string) })
        let values = attributes.map { attribute -> Value in
            guard case .one(let value) = attribute.value.value else { return .null }
            return value
        }
        return (entity, try entity.record(values))
    }
}

/// JSON, with one-key objects for the types that JSON lacks: {"$date": "2016-05-16T00:00:00Z"}.
struct CaseValue: Decodable {
    let value: PredicateValue
    let type: ValueType?

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.singleValueContainer() {
            if container.decodeNil() { self.init(.one(.null), nil); return }
            if let value = try? container.decode(Bool.self) { self.init(.one(.boolean(value)), .boolean); return }
            if let value = try? container.decode(Int64.self) { self.init(.one(.integer(value)), .integer); return }
            if let value = try? container.decode(Double.self) { self.init(.one(.double(value)), .double); return }
            if let value = try? container.decode(String.self) { self.init(.one(.string(value)), .string); return }
            if let value = try? container.decode([CaseValue].self) { self.init(.list(value.map(\.value)), nil); return }
        }
        let object = try [String: CaseValue](from: decoder)
        if object.count == 1, let (key, inner) = object.first, key.hasPrefix("$"),
            case .one(.string(let text)) = inner.value
        {
            let name = String(key.dropFirst())
            if name == "null" { self.init(.one(.null), ValueType(name: text)); return }
            guard let type = ValueType(name: name), let value = Self.value(text, type) else {
                throw PredicateCase.Malformed(place: "\(key) \(text)")
            }
            self.init(.one(value), type)
            return
        }
        self.init(.dictionary(object.mapValues(\.value)), nil)
    }

    private init(_ value: PredicateValue, _ type: ValueType?) {
        self.value = value
        self.type = type
    }

    private static func value(_ text: String, _ type: ValueType) -> Value? {
        if type == .data { return Data(base64Encoded: text).map(Value.data) }
        if type == .double { return Double(text).map(Value.double) }
        return Value(text, as: type)
    }
}
