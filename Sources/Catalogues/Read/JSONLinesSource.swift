package import Values

/// JSON lines: one object a line. The columns are the keys of the first objects, in alphabetical order.
package final class JSONLinesSource: RowSource {
    private static let sampledLines = 1000

    private let input: CatalogueInput
    private let splitter: LineSplitter
    package private(set) var columns: [String] = []
    /// The types that the sampled values have; text where they differ, or all are null.
    package private(set) var types: [String: ValueType] = [:]

    package init(_ input: CatalogueInput) throws {
        self.input = input
        splitter = try LineSplitter(input)
        let fault = try sample()
        columns = types.keys.sorted()
        if columns.isEmpty {
            throw fault
                ?? UnreadableFile(
                    path: input.path, reason: "has no objects; each line must be a JSON object", isEmpty: true)
        }
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
        var names: Set<String> = []
        let splitter = try LineSplitter(input)
        do {
            try splitter.forEachLine(
                { line, number in
                    if number > Self.sampledLines { throw Sampled() }
                    if line.isBlank { return }
                    do {
                        for (name, value) in try object(line, number) where name.isColumnName {
                            names.insert(name)
                            note(value, of: name)
                        }
                    } catch let error as BadInput { fault = fault ?? error }
                }, tooLong: { fault = fault ?? $0 })
        } catch is Sampled {}
        for name in names where types[name] == nil { types[name] = .string }
        return fault
    }

    private func note(_ value: JSONScalar, of name: String) {
        switch (types[name], value.type) {
        case (_, nil): break
        case (nil, let new?): types[name] = new
        case (.integer, .double), (.double, .integer): types[name] = .double
        case (let old?, let new?): types[name] = old == new ? old : .string
        }
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
                    let names = columns.count > 20 ? "" : " \(columns.joined(separator: ", "))"
                    let reason = "\"\(unknown.excerpt)\" is not among the attributes\(names)"
                    return try bad(BadInput(file: input.path, line: number, reason: reason))
                }
                row.begin(line: number)
                for column in columns {
                    if let value = object[column], value != .null {
                        Array(value.text.utf8).withUnsafeBytes { row.append($0) }
                    } else {
                        row.appendNull()
                    }
                }
                try body(row)
            }, tooLong: bad)
    }

    private func object(_ line: UnsafeRawBufferPointer, _ number: Int) throws -> [String: JSONScalar] {
        do {
            var object: [String: JSONScalar] = [:]
            var scanner = try JSONScanner(line)
            try scanner.wholeObject { name, scanner in object[name] = try scanner.scalar() }
            return object
        } catch let fault as JSONScanner.Fault {
            throw BadInput(
                file: input.path, line: number,
                reason: "it is not a JSON object of numbers, texts, booleans and nulls: \(fault)")
        }
    }
}
