import FetchIndexCatalogues
import Foundation
import FetchIndexTestSupport
import Testing

/// Malformed and unusual files are refused, or read without their bad lines. Errors say what is wrong.
@Suite struct HostileFileTests {
    @Test(arguments: CatalogueFormat.allCases) func aFileMayMixDifferentLineEnds(format: CatalogueFormat) {
        let (header, rows): (String?, [String]) =
            format == .jsonl
            ? (nil, ["{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"3\",\"b\":\"4\"}"])
            : format == .csv ? ("a,b", ["1,2", "3,4"]) : ("a\tb", ["1\t2", "3\t4"])
        for end in ["\n", "\r\n", "\r"] {
            for other in ["\n", "\r\n", "\r"] {
                let text = (header.map { $0 + end } ?? "") + rows[0] + other + rows[1] + end
                let reading = Reading(format, text)
                #expect(
                    reading.columns == ["a", "b"],
                    "\(text.debugDescription)")
                #expect(
                    reading.rows == [["1", "2"], ["3", "4"]],
                    "\(text.debugDescription)")
                #expect(reading.lines == (header == nil ? [1, 2] : [2, 3]), "\(text.debugDescription)")
            }
        }
    }

    @Test(arguments: CatalogueFormat.allCases) func aFileReadInPiecesOfOneToNineBytesGivesTheSameRows(
        format: CatalogueFormat
    ) {
        var generator = SeededGenerator(seed: 41)
        let alphabets: [CatalogueFormat: [String]] = [
            .csv: [",", "\"", "\"\"", "\r", "\n", "\r\n", "a", "影", "\0", " "],
            .tsv: ["\t", "\r", "\n", "\r\n", "a", "影", "\0", " "],
            .jsonl: ["{\"a\":1}", "{\"a\":\"x\\n\"}", "{}", "[", "\r", "\n", "\r\n", " ", "{\"a\":", "null}"],
        ]
        for trial in 0..<300 {
            var text = format == .csv ? "a,b\n" : format == .tsv ? "a\tb\r" : "{\"a\":0}\r\n"
            for _ in 0..<Int.random(in: 0..<20, using: &generator) {
                text += alphabets[format]?.randomElement(using: &generator) ?? ""
            }
            if Bool.random(using: &generator) { text = "\u{FEFF}" + text }
            let whole = Reading(format, text)
            for length in 1...9 {
                let pieces = Reading(format, text.utf8, pieceLength: length)
                #expect(pieces == whole, "trial \(trial), pieces of \(length): \(text.debugDescription)")
            }
        }
    }

    @Test func anEmptyFileIsAnErrorButAHeaderAloneIsAccepted() {
        for format in CatalogueFormat.allCases {
            let error = Reading(format, "").error
            #expect(
                error == "f "
                    + (format == .jsonl
                        ? "has no objects with members"
                        : "is empty, or has no header that names the columns"))
            #expect(Reading(format, "\u{FEFF}").error == error)
        }
        #expect(Reading(.csv, "a,b").columns == ["a", "b"])
        #expect(Reading(.csv, "a,b\n").rows == [])
        #expect(Reading(.tsv, "a\tb").columns == ["a", "b"])
        #expect(Reading(.tsv, "a\tb\r\n").error == nil)
    }

    @Test(arguments: [
        ("a,b,a\n", 3, "column 1 is called \"a\", too"), ("a,,b\n", 2, "this name is empty"),
        ("a,b,\n", 3, "this name is empty"),
        (
            "a,\u{1}b\n", 2,
            "this name, \" b\", has the control character U+0001 (␁), which only the name of a column with a given type or of a stored attribute may have"
        ),
        ("é,e\u{301}\n", 2, "column 1 is called \"e\u{301}\", too"), ("\"\",a\n", 1, "this name is empty"),
        ("section,row,section\n", 3, "column 1 is called \"section\", too"),
    ]) func emptyRepeatedAndControlCharacterColumnNamesAreRefused(header: String, column: Int, fault: String) {
        let reason = "the header must name the columns, each with a name of its own in UTF-8"
        #expect(Reading(.csv, header).error == "f, line 1, column \(column): \(reason); \(fault)")
    }

    @Test func columnNamesThatAreNotUTF8AreRefused() {
        let error = Reading(.csv, [0x61, 0x2C, 0xFF, 0x0A]).error
        #expect(error?.hasPrefix("f, line 1, column 2: ") == true && error?.hasSuffix("is not UTF-8") == true)
        #expect(Reading(.tsv, [0x61, 0x09, 0xC3, 0x0A]).error?.hasPrefix("f, line 1, column 2: ") == true)
    }

    @Test(arguments: CatalogueFormat.allCases) func aFileWithAUTF16ByteOrderMarkIsRefused(format: CatalogueFormat) {
        for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian] {
            let mark: [UInt8] = encoding == .utf16LittleEndian ? [0xFF, 0xFE] : [0xFE, 0xFF]
            let bytes = mark + ("a,b\n1,2\n".data(using: encoding) ?? Data())
            #expect(
                Reading(format, bytes).error == "f is in UTF-16 by its byte-order mark; convert it to UTF-8 first")
        }
    }

    @Test func nulBytesAreKeptInFields() {
        #expect(Reading(.csv, "a,b\n1\0,\"\0\"\n").rows == [["1\0", "\0"]])
        #expect(Reading(.tsv, "a\tb\n\0\t\0\0\n").rows == [["\0", "\0\0"]])
        #expect(Reading(.jsonl, "{\"a\":\"\\u0000\"}\n").rows == [["\0"]])
        #expect(Reading(.jsonl, "{\"a\":1}\n{\"a\":\"\0\"}\n").bad.first?.contains("a control character") == true)
    }

    @Test func anUnclosedQuotationMarkIsReportedWithItsLine() {
        let text = "a,b\n1,\"x\r\ny\rz\",\"\nopen,5\n6,7\n"
        #expect(Reading(.csv, text).error == "f, line 4: the quotation mark that opens a field here is never closed")
        #expect(Reading(.csv, "\"a,b\n1,2\n").error?.hasPrefix("f, line 1: the quotation mark") == true)
    }

    @Test(arguments: [
        ("1,2\n3,\"x\"yz\n4,5\n", "line 3: a quotation mark inside a quoted field must be doubled"),
        ("1,2\n3,\"p\" ,q\n4,5\n", "line 3: a quotation mark inside a quoted field must be doubled"),
        ("1,2\n3,\"\"x\"\"\n", "line 3: a quotation mark inside a quoted field must be doubled"),
        (
            "1,2\n100,\"oops\n101,\"v101\"\n102,v\n",
            "line 4: a quotation mark inside a quoted field must be doubled; the field begins on line 3"
        ),
        (
            "1,2\n3,\"a\r\nb\rc\"\"\"d\n",
            "line 5: a quotation mark inside a quoted field must be doubled; the field begins on line 3"
        ),
        (
            "1,2\n3,5\" disk\n4,5\n",
            "line 3: a field that has a quotation mark must be in quotation marks, with the mark doubled"
        ),
        (
            "1,2\n3, \"a\"\n4,5\n",
            "line 3: a field that has a quotation mark must be in quotation marks, with the mark doubled"
        ),
    ]) func aMisplacedQuotationMarkStopsReadingWithAnError(rows: String, expected: String) {
        for length in [1, 3, 1000] {
            let reading = Reading(.csv, "a,b\n\(rows)".utf8, pieceLength: length)
            #expect(reading.rows == [["1", "2"]])
            #expect(reading.columns == ["a", "b"])
            #expect(reading.bad.isEmpty)
            #expect(reading.error == "f, \(expected)", "pieces of \(length)")
        }
        let header = Reading(.csv, "a,\"b\"c\n1,2\n")
        #expect(header.error == "f, line 1: a quotation mark inside a quoted field must be doubled")
    }

    @Test func tooLongLinesAreSkippedOrStopReading() {
        let long = String(repeating: "x", count: 101)
        let fits = String(repeating: "y", count: 100)
        for length in [1, 7, 100, 1000] {
            let lines = Reading(
                .tsv, "a\n\(fits)\n\(long)\r\n\(fits)\n\(long)".utf8, longestLine: 100, pieceLength: length)
            #expect(lines.rows == [[fits], [fits]])
            #expect(lines.lines == [2, 4])
            #expect(
                lines.bad == [
                    "f, line 3: the line is longer than 100 bytes", "f, line 5: the line is longer than 100 bytes",
                ])
            let objects = Reading(
                .jsonl, "{\"a\":1}\n{\"a\":\"\(long)\"}\n{\"a\":2}".utf8, longestLine: 100, pieceLength: length)
            #expect(objects.rows == [["1"], ["2"]])
            #expect(objects.bad == ["f, line 2: the line is longer than 100 bytes"])
        }
        #expect(Reading(.tsv, "\(long)\n1\n", longestLine: 100).error == "f, line 1: the line is longer than 100 bytes")
        for length in [1, 7, 1000] {
            for row in ["3,\"4\n\(long)", "3,\(long)\n", "3,\"\(long)\"\n"] {
                let reading = Reading(.csv, "a,b\n1,2\n\(row)".utf8, longestLine: 100, pieceLength: length)
                let reason = "f, line 3: the row is longer than 100 bytes; is a quotation mark never closed?"
                #expect(reading.error == reason)
                #expect(reading.rows == [["1", "2"]], "\(row), pieces of \(length)")
            }
        }
    }

    @Test func tenThousandColumnsAreReadAndFarMoreRefused() {
        let names = (0..<10_000).map { "c\($0)" }
        let values = (0..<10_000).map(String.init)
        for (format, separator) in [(CatalogueFormat.csv, ","), (.tsv, "\t")] {
            let text = names.joined(separator: separator) + "\n" + values.joined(separator: separator) + "\n"
            let reading = Reading(format, text)
            #expect(reading.columns == names)
            #expect(reading.rows == [values])
            let wide = String(repeating: separator, count: CatalogueInput.maximumColumns)
            #expect(Reading(format, wide + "\n").error?.hasSuffix("has more than 32768 fields") == true)
            let bad = Reading(format, "a\n\(wide)\n1\n")
            #expect((bad.bad + [bad.error]).contains { $0?.hasSuffix("has more than 32768 fields") == true })
        }
        let members = names.map { "\"\($0)\":1" }.joined(separator: ",")
        #expect(Reading(.jsonl, "{\(members)}").rows.first?.count == 10_000)
    }

    @Test func readersKeepRowsWithTooManyOrTooFewFields() {
        #expect(Reading(.csv, "a,b\n1\n1,2,3\n\n,\n").rows == [["1"], ["1", "2", "3"], ["", ""]])
        #expect(Reading(.tsv, "a\tb\n1\n1\t2\t3\n\n\t\n").rows == [["1"], ["1", "2", "3"], ["", ""]])
    }

    @Test func missingFilesAndFoldersAreReportedInOneSentence() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        func error(_ path: String) -> String {
            do {
                _ = try CatalogueFormat.csv.open(CatalogueInput(path))
                return ""
            } catch { return "\(error)" }
        }
        #expect(error(folder.path) == "\(folder.path) is a folder, not a file")
        #expect(error(folder.path + "/missing") == "\(folder.path)/missing cannot be opened: No such file or directory")
        let pipe = folder.path + "/pipe"
        #expect(try TemporaryFolder.run("mkfifo", [pipe]).status == 0)
        #expect(error(pipe).hasPrefix("\(pipe) is not a regular file"))
        #expect(error("/dev/zero").hasPrefix("/dev/zero is not a regular file"))
        let file = folder.path + "/a%@ %n\n影.csv"
        try Data("\u{FEFF}a\n1\n".utf8).write(to: URL(fileURLWithPath: file))
        #expect(error(file) == "")
        // A file whose name has odd characters is read, even in pieces of two bytes.
        var rows = 0
        try CatalogueFormat.csv.open(CatalogueInput(file, pieceLength: 2)).forEachRow(
            { _ in rows += 1 }, bad: { throw $0 })
        #expect(rows == 1)
    }
}
