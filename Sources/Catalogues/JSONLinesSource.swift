#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
package import Values

/// JSON lines: one object a line. The columns are the keys of the first objects, in alphabetical order.
package final class JSONLinesSource: RowSource {
    private static let sampledLines = 1000

    private let path: String
    private let reader: FileReader
    package private(set) var columns: [String] = []
    /// The types that the sampled values have; text where they differ.
    package private(set) var types: [String: ValueType] = [:]

    package init(_ path: String) throws {
        self.path = path
        reader = try FileReader(path)
        try sample()
        columns = types.keys.sorted()
        if columns.isEmpty {
            throw UnreadableFile(path: path, reason: "has no objects; each line must be a JSON object")
        }
    }

    package var progress: (done: Int, total: Int) { (reader.position, reader.length) }

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

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
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
