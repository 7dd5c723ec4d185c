package import FetchIndexValues

/// JSON lines: one object per line, or the objects in a list of a JSON document. The columns are the members of the sampled lines and the known columns,
/// sorted by name. A member that a line lacks is an absent field.
package final class JSONLinesSource: RowSource {
    private static let sampledLines = 1000

    private let input: CatalogueInput
    private let splitter: any JSONSplitter
    private let told: ToldColumns
    package private(set) var columns: [String] = []
    /// The types of the members in the sampled lines; text if no other type fits all values, or if all are null.
    package var types: [String: ValueType] { sampled.types }
    private var sampled: JSONTypes
    /// Whether all lines of the file are blank.
    private var isBlank = true

    package init(_ input: CatalogueInput, _ told: ToldColumns = ToldColumns()) throws {
        self.input = input
        self.told = told
        sampled = JSONTypes(key: told.key)
        splitter = try input.jsonSplitter()
        let fault = try sample()
        let types = sampled.types
        if types.isEmpty {
            throw fault
                ?? UnreadableFile(
                    path: input.path, reason: "has no objects with members", isEmpty: isBlank)
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

    /// Reads the sample. Returns the error of its first bad line, if any. The caller throws this error if no members
    /// are found: no row would be read, so the error wouldn't be reported otherwise.
    private func sample() throws -> (any Error)? {
        var fault: BadInput?
        let splitter = try input.jsonSplitter()
        var members = JSONMembers()
        var count = 0
        do {
            try splitter.forEachLine(
                { line, number in
                    if line.isBlank { return }
                    isBlank = false
                    let suffices = fault != nil || !sampled.types.isEmpty
                    count += 1
                    if count > Self.sampledLines && suffices && !told.areFoundInAllLines { throw Sampled() }
                    do {
                        let known = members.names.count
                        try read(line, number, into: &members)
                        // A bad row isn't used to infer columns and types.
                        if let name = members.names[known...].first(where: { !told.mayName($0) }) {
                            members.removeNames(from: known)
                            throw unnamed(name, number)
                        }
                        sampled.note(members)
                    } catch let error as BadInput { fault = fault ?? error }
                }, tooLong: { fault = fault ?? $0 })
        } catch is Sampled {}
        return fault
    }

    private func unnamed(_ name: String, _ number: Int) -> BadInput {
        if name.isEmpty { return BadInput(file: input.path, line: number, reason: "a member has an empty name") }
        var error = BadInput(
            file: input.path, line: number,
            reason: "the name of the member \"\(name.excerpt)\" has \(name.controlCharacter)")
        error.remedy = .typeOfColumn
        return error
    }

    /// Returns the types of all columns, whatever `asked` and `key` are. They were inferred from the sample, in which
    /// `ToldColumns.key` was the key.
    package func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] {
        let types = sampled.types
        return columns.map { types[$0] ?? .string }
    }

    /// Returns the types of the columns of several files, which all have the same columns.
    static func types(ofAll sources: [JSONLinesSource]) -> [ValueType] {
        var sampled = sources[0].sampled
        for source in sources.dropFirst() { sampled.merge(source.sampled) }
        let types = sampled.types
        return sources[0].columns.map { types[$0] ?? .string }
    }

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        var row = FieldRow()
        let count = columns.count
        var members = JSONMembers(columns)
        try splitter.forEachLine(
            { line, number in
                if line.isBlank { return }
                do { try read(line, number, into: &members) } catch let error as BadInput { return try bad(error) }
                if let unknown = members.names[count...].min() {
                    members.removeNames(from: count)
                    return try bad(unknownMember(unknown, number))
                }
                row.begin(line: number)
                for value in members.values { row.append(value) }
                try body(row)
            }, tooLong: bad)
    }

    private func unknownMember(_ name: String, _ number: Int) -> BadInput {
        if !told.mayName(name) { return unnamed(name, number) }
        let names = columns.count > 20 ? "" : " \(columns.joined(separator: ", "))"
        return BadInput(
            file: input.path, line: number, reason: "\"\(name.excerpt)\" is not among the attributes\(names)")
    }

    private func read(
        _ line: UnsafeRawBufferPointer, _ number: Int, into members: inout JSONMembers
    ) throws {
        do {
            try members.read(line, areListsText: told.areListsText, flattens: told.flattens)
        } catch let fault as JSONScanner.Fault {
            throw BadInput(
                file: input.path, line: number,
                reason: "it is not a JSON object of numbers, texts, booleans and nulls: \(fault)")
        }
    }
}

/// Splits a file into the texts of JSON objects, each with the number of the line on which it begins.
protocol JSONSplitter: AnyObject {
    var progress: (done: Int, total: Int) { get }
    var decompressesAhead: Bool { get set }

    /// Calls the body with each remaining text, and `tooLong` with the error of a text that is too long, which is
    /// skipped.
    func forEachLine(
        _ body: (UnsafeRawBufferPointer, Int) throws -> Void, tooLong: (BadInput) throws -> Void) throws
}

extension LineSplitter: JSONSplitter {}

extension CatalogueInput {
    fileprivate func jsonSplitter() throws -> any JSONSplitter {
        if let listPath { return try JSONElementSplitter(self, listPath) }
        return try LineSplitter(self)
    }
}

extension FieldRow {
    /// Appends a member's value; nil if the line lacks the member.
    fileprivate mutating func append(_ value: JSONToken?) {
        switch value {
        case nil: appendAbsent()
        case .null: appendNull()
        case .boolean(let value): appendLiteral(value ? "true" : "false")
        case .number(let digits): appendLiteral(digits)
        case .text(let text): text.withBytes { append($0) }
        }
    }

    private mutating func appendLiteral(_ word: StaticString) {
        appendLiteral(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
