import FetchIndexCatalogues
import Foundation
import FetchIndexValues

/// A catalogue or change file. A catalogue is read whole and in pieces, which must give the same rows. If it has no
/// errors, its rows are written and read again. A change file is only read in pieces. Foundation must read an object
/// from each of its lines that is a change.
///
///     format 1 | length of pieces 1 | longest line 1 | file
///
/// Format: CSV, TSV, JSON lines or changes, by the remainder of 4.
enum CatalogueBody {
    /// The rows and errors that reading a file gives.
    private struct Reading: Equatable {
        var columns: [String] = []
        var rows: [[[UInt8]]] = []
        var lines: [Int] = []
        var bad: [String] = []
        var error: String?
    }

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let choice = Int(reader.byte() % 4)
        let pieceLength = Int(reader.byte()) + 1
        let limit = Int(reader.byte()) * 4
        let file = reader.remaining()
        guard choice < CatalogueFormat.allCases.count else { return readChanges(file, pieceLength) }
        let format = CatalogueFormat.allCases[choice]
        let whole = reading(format, CatalogueInput("f", bytes: file))
        let pieces = reading(format, CatalogueInput("f", bytes: file, pieceLength: pieceLength))
        precondition(whole == pieces, "pieces of \(pieceLength) give \(pieces), the whole \(whole)")
        precondition(whole.error == nil || whole.error?.contains("\n") == false, "an error is more than one line")
        _ = reading(format, CatalogueInput("f", bytes: file, longestLine: limit, pieceLength: pieceLength))
        readValues(whole)
        writeAgain(format, whole)
    }

    private static func reading(_ format: CatalogueFormat, _ input: CatalogueInput) -> Reading {
        var reading = Reading()
        do {
            let source = try format.open(input)
            reading.columns = source.columns
            try source.forEachRow(
                { row in
                    reading.rows.append((0..<row.count).map { row[$0].withUnsafeBytes { [UInt8]($0) } })
                    reading.lines.append(row.line)
                    if row.count > 0 { _ = row.excerpt(of: row.count - 1) }
                }, bad: { reading.bad.append("\($0)") })
        } catch {
            precondition(error is BadInput || error is UnreadableFile, "\(error) isn't an error of a file")
            reading.error = "\(error)"
        }
        precondition(reading.lines == reading.lines.sorted(), "lines do not ascend")
        return reading
    }

    /// Inferred types must be able to represent all values that they were inferred from.
    private static func readValues(_ reading: Reading) {
        var inference = TypeInference(columns: reading.columns.count)
        let rows = reading.rows.prefix(4).filter { $0.count == reading.columns.count }
        for row in rows {
            for (column, field) in row.enumerated() {
                inference.note(String(decoding: field, as: UTF8.self), in: column)
            }
        }
        for (column, type) in inference.types.enumerated() {
            for row in rows where !row[column].isEmpty {
                let text = String(decoding: row[column], as: UTF8.self)
                precondition(Value(text, as: type) != nil, "\(text.debugDescription) is inferred to be a \(type)")
                for type in ValueType.allCases { _ = Value(text, as: type)?.description }
            }
        }
    }

    private static func writeAgain(_ format: CatalogueFormat, _ reading: Reading) {
        guard reading.error == nil, reading.bad.isEmpty else { return }
        let header = reading.columns.map { [UInt8]($0.utf8) }
        let (separator, quote): (UInt8, Bool) = format == .csv ? (0x2C, true) : (0x09, false)
        var written: [UInt8] = []
        for row in (format == .jsonl ? [] : [header]) + reading.rows {
            if format == .jsonl {
                written += [UInt8](json(row, reading.columns))
            } else {
                written += [UInt8](row.map { quote ? quoted($0) : $0 }.joined(separator: [separator]))
            }
            written.append(0x0A)
        }
        // The byte order mark at the beginning of a file is removed, but a mark at the beginning of a field is not. So
        // a written file that begins with one can't be compared.
        guard !written.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        let again = self.reading(format, CatalogueInput("f", bytes: written))
        if format == .jsonl && reading.rows.allSatisfy({ $0.allSatisfy(\.isEmpty) }) { return }
        precondition(
            again.columns == reading.columns && again.rows == reading.rows && again.error == nil && again.bad.isEmpty,
            "written and read again, the file gives \(again), not \(reading)")
    }

    private static func quoted(_ field: [UInt8]) -> [UInt8] {
        [0x22] + field.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] } + [0x22]
    }

    /// The row as a JSON object, in which each value is a text. Foundation writes it.
    private static func json(_ row: [[UInt8]], _ columns: [String]) -> Data {
        let object = Dictionary(
            zip(columns, row.map { String(decoding: $0, as: UTF8.self) }), uniquingKeysWith: { first, _ in first })
        guard let data = try? JSONEncoder().encode(object) else {
            preconditionFailure("\(object) can't be encoded as JSON")
        }
        return data
    }

    private static func readChanges(_ file: [UInt8], _ pieceLength: Int) {
        var lines = 0
        do {
            let splitter = try LineSplitter(CatalogueInput("f", bytes: file, pieceLength: pieceLength))
            try splitter.forEachLine(
                { line, number in
                    lines += 1
                    precondition(number == lines, "line \(number) is the \(lines)th")
                    do {
                        let change = try ChangeLine(line, number, in: "f")
                        for scalar in [change.key].compactMap({ $0 }) + change.values.values {
                            for type in ValueType.allCases { _ = scalar.value(as: type)?.description }
                        }
                        let object = try? JSONSerialization.jsonObject(with: Data(line))
                        precondition(object is [String: Any], "Foundation reads no object from line \(number)")
                    } catch let error as BadInput {
                        precondition(error.line == number, "\(error) is of line \(number)")
                    }
                }, tooLong: { _ in preconditionFailure("no line is as long as that") })
        } catch {
            precondition(error is UnreadableFile, "\(error) isn't an error of a file")
        }
    }
}
