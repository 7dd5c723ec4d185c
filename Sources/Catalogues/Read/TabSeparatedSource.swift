package import FetchIndexValues

/// Tab-separated values in the form that IANA's text/tab-separated-values defines: without quoting, so a field can't
/// contain tabs or line ends.
package final class TabSeparatedSource: RowSource {
    private let input: CatalogueInput
    private let splitter: LineSplitter
    package private(set) var columns: [String] = []

    package init(_ input: CatalogueInput, _ told: ToldColumns = ToldColumns()) throws {
        self.input = input
        splitter = try LineSplitter(input)
        var row = FieldRow()
        let header = try LineSplitter(input)
        do {
            try header.forEachLine(
                { line, number in
                    try split(line, number, into: &row)
                    throw HeaderRead()
                }, tooLong: { throw $0 })
        } catch is HeaderRead {}
        try row.refuseOtherDelimiter(in: input, isCSV: false)
        columns = try row.columnNames(in: input, told)
    }

    package var progress: (done: Int, total: Int) { splitter.progress }

    package var decompressesAhead: Bool {
        get { splitter.decompressesAhead }
        set { splitter.decompressesAhead = newValue }
    }

    package func inferTypes(of asked: Set<Int>, key: String?) throws -> [ValueType] { readTypes(of: asked, key: key) }

    package func forEachRow(_ body: (FieldRow) throws -> Void, bad: (BadInput) throws -> Void) throws {
        var row = FieldRow()
        try splitter.forEachLine(
            { line, number in
                guard number > 1, !line.isEmpty else { return }
                do { try split(line, number, into: &row) } catch let error as BadInput { return try bad(error) }
                try body(row)
            }, tooLong: bad)
    }

    private func split(_ line: UnsafeRawBufferPointer, _ number: Int, into row: inout FieldRow) throws {
        row.begin(line: number)
        let fits = row.appendFields(of: line, separatedBy: 0x09, atMost: CatalogueInput.maximumColumns)
        if !fits { throw input.tooWide("the line", line: number) }
    }
}

private struct HeaderRead: Error {}
