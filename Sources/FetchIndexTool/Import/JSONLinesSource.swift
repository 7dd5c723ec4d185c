internal import FetchIndex
#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// JSON lines: one object a line. The columns are the keys of the first objects, in alphabetical order.
final class JSONLinesSource: RowSource {
    private static let sampledLines = 1000

    private let path: String
    private let reader: FileReader
    private(set) var columns: [String] = []
    /// The types that the sampled values have; text where they differ.
    private(set) var types: [String: ValueType] = [:]

    init(_ path: String) throws {
        self.path = path
        reader = try FileReader(path)
        try sample()
        columns = types.keys.sorted()
        if columns.isEmpty { throw Failure("\(path) has no objects; each line must be a JSON object") }
    }

    var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    private struct Sampled: Error {}

    private func sample() throws {
        var splitter = LineSplitter()
        do {
            try splitter.forEachLine(of: try FileReader(path)) { line, number in
                if number > Self.sampledLines { throw Sampled() }
                if line.isEmpty { return }
                // A line that is no object is reported when its turn comes.
                for (name, value) in (try? Self.object(line, path, number)) ?? [:] { note(value, of: name) }
            }
        } catch is Sampled {}
    }

    private func note(_ value: JSONScalar, of name: String) {
        switch (types[name], value.type) {
        case (let old, nil): types[name] = old ?? .string
        case (nil, let new?): types[name] = new
        case (.integer, .double), (.double, .integer): types[name] = .double
        case (let old?, let new?): types[name] = old == new ? old : .string
        }
    }

    func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        var splitter = LineSplitter()
        var row = FieldRow()
        let known = Set(columns)
        try splitter.forEachLine(of: reader) { line, number in
            if line.isEmpty { return }
            let object: [String: JSONScalar]
            do { object = try Self.object(line, path, number) } catch let error as BadInput { return try bad(error) }
            if let unknown = object.keys.first(where: { !known.contains($0) }) {
                let reason = "\"\(unknown)\" is not among the attributes \(columns.joined(separator: ", "))"
                return try bad(BadInput(file: path, line: number, reason: reason))
            }
            row.begin(line: number)
            for column in columns {
                let text = object[column]?.text ?? ""
                Array(text.utf8).withUnsafeBytes { row.append($0) }
            }
            try body(row)
        }
    }

    private static func object(_ line: UnsafeRawBufferPointer, _ path: String, _ number: Int) throws -> [String:
        JSONScalar]
    {
        do {
            return try JSONDecoder().decode([String: JSONScalar].self, from: Data(line))
        } catch {
            throw BadInput(
                file: path, line: number, reason: "it is not a JSON object of numbers, texts, booleans and nulls")
        }
    }
}

/// A value of a flat JSON object.
enum JSONScalar: Decodable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)

    init(from decoder: any Decoder) throws {
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
    var type: ValueType? {
        switch self {
        case .null: nil
        case .boolean: .boolean
        case .integer: .integer
        case .double: .double
        case .string: .string
        }
    }

    /// As a catalogue's field would have it.
    var text: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): Value.double(value).description
        case .string(let value): value
        }
    }

    /// As an attribute's value; nil when it does not fit the type.
    func value(as type: ValueType) -> Value? {
        switch self {
        case .null: .null
        case .string(let text): Value(text, as: type)
        case .boolean, .integer, .double: type == .string ? nil : Value(text, as: type)
        }
    }
}
