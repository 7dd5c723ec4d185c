package import FetchIndexValues

/// JSON lines: one object a line. The columns are the keys of the first objects and those that the reader was told, in alphabetical
/// order. A member that a line lacks is an absent field.
package final class JSONLinesSource: RowSource {
    private static let sampledLines = 1000

    private let input: CatalogueInput
    private let splitter: LineSplitter
    private let told: ToldColumns
    package private(set) var columns: [String] = []
    /// The types that the values have in the lines that were read for members; text where they differ, or all are null.
    package var types: [String: ValueType] { sampled.types }
    private var sampled: JSONTypes

    package init(_ input: CatalogueInput, _ told: ToldColumns = ToldColumns()) throws {
        self.input = input
        self.told = told
        sampled = JSONTypes(key: told.key)
        splitter = try LineSplitter(input)
        let fault = try sample()
        let types = sampled.types
        if types.isEmpty {
            throw fault
                ?? UnreadableFile(
                    path: input.path, reason: "has no objects; each line must be a JSON object", isEmpty: true)
        }
        columns = Set(types.keys).union(told.names).sorted()
        guard columns.count <= CatalogueInput.maximumColumns else { throw input.tooWide("the sample", line: 1) }
    }

    package var progress: (done: Int, total: Int) { splitter.progress }

    package var decompressesAhead: Bool {
        get { splitter.decompressesAhead }
        set { splitter.decompressesAhead = newValue }
    }

    private struct Sampled: Error {}

    /// Returns the error of the first bad line: without columns no row is read, so that it would never be reported.
    private func sample() throws -> (any Error)? {
        var fault: BadInput?
        let splitter = try LineSplitter(input)
        do {
            try splitter.forEachLine(
                { line, number in
                    if number > Self.sampledLines && !told.areFoundInAllLines { throw Sampled() }
                    if line.isBlank { return }
                    do {
                        let object = try object(line, number)
                        // A bad row tells nothing of the others.
                        if let name = object.keys.first(where: { !told.mayName($0) }) {
                            throw unnamed(name, number)
                        }
                        for (name, value) in object {
                            sampled.note(value, of: name)
                        }
                    } catch let error as BadInput { fault = fault ?? error }
                }, tooLong: { fault = fault ?? $0 })
        } catch is Sampled {}
        return fault
    }

    private func unnamed(_ name: String, _ number: Int) -> BadInput {
        BadInput(
            file: input.path, line: number,
            reason: name.isEmpty
                ? "a member has an empty name"
                : "the name of the member \"\(name.excerpt)\" has \(name.controlCharacter)")
    }

    /// The types are known since the lines were read for members, with `ToldColumns.key`.
    package func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        let types = sampled.types
        return columns.map { types[$0] ?? .string }
    }

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        var row = FieldRow()
        let known = Set(columns)
        try splitter.forEachLine(
            { line, number in
                if line.isBlank { return }
                let object: [String: JSONScalar]
                do { object = try self.object(line, number) } catch let error as BadInput { return try bad(error) }
                if let unknown = object.keys.filter({ !known.contains($0) }).min() {
                    return try bad(unknownMember(unknown, number))
                }
                row.begin(line: number)
                for column in columns {
                    switch object[column] {
                    case nil: row.appendAbsent()
                    case .null: row.appendNull()
                    case .string(var text): text.withUTF8 { row.append(UnsafeRawBufferPointer($0)) }
                    case let literal?:
                        var text = literal.text
                        text.withUTF8 { row.appendLiteral(UnsafeRawBufferPointer($0)) }
                    }
                }
                try body(row)
            }, tooLong: bad)
    }

    private func unknownMember(_ name: String, _ number: Int) -> BadInput {
        if !told.mayName(name) { return unnamed(name, number) }
        let names = columns.count > 20 ? "" : " \(columns.joined(separator: ", "))"
        return BadInput(
            file: input.path, line: number, reason: "\"\(name.excerpt)\" is not among the attributes\(names)")
    }

    private func object(_ line: UnsafeRawBufferPointer, _ number: Int) throws -> [String: JSONScalar] {
        do {
            var object: [String: JSONScalar] = [:]
            var scanner = try JSONScanner(line)
            try scanner.wholeObject { name, scanner in
                object[name] = try scanner.scalar(areListsText: told.areListsText)
            }
            return object
        } catch let fault as JSONScanner.Fault {
            throw BadInput(
                file: input.path, line: number,
                reason: "it is not a JSON object of numbers, texts, booleans and nulls: \(fault)")
        }
    }
}
