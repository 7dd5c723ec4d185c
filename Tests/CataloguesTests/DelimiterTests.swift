import FetchIndexCatalogues
import FetchIndexTestSupport
import Testing

/// Delimiters of CSV that are given or named by the file's first line, and errors for headers that seem to have another
/// one.
@Suite struct DelimiterTests {
    private func reading(_ text: String, _ delimiter: Unicode.Scalar? = nil, pieceLength: Int = 1 << 16) -> Reading {
        var input = CatalogueInput("f", bytes: Array(text.utf8), pieceLength: pieceLength)
        input.delimiter = delimiter.map { UInt8(ascii: $0) }
        return Reading(.csv, input)
    }

    @Test(arguments: [";", "\t", "|", " ", ":"] as [Unicode.Scalar]) func aGivenDelimiterSeparatesFields(
        delimiter: Unicode.Scalar
    ) {
        let rows = ["a,b", "c"].map { $0 + "\(delimiter)" }
        let text = "\(rows[0])c\n1,5\(delimiter)\"x\(delimiter)\"\"y\"\n\(delimiter)\n"
        for pieceLength in [1, 3, 1 << 16] {
            let read = reading(text, delimiter, pieceLength: pieceLength)
            #expect(read.error == nil && read.columns == ["a,b", "c"])
            #expect(read.rows == [["1,5", "x\(delimiter)\"y"], ["", ""]])
        }
    }

    @Test(arguments: ["\n", "\r\n", "\r"]) func theFirstLineOfAFileMayNameTheDelimiter(end: String) {
        for pieceLength in [1, 3, 1 << 16] {
            let read = reading("sep=;\(end)a;b\(end)1;2\(end)", pieceLength: pieceLength)
            #expect(read.error == nil && read.columns == ["a", "b"])
            #expect(read.rows == [["1", "2"]] && read.lines == [3])
        }
        #expect(reading("sep=,\na,b\n1,2\n").rows == [["1", "2"]])
        #expect(reading("\u{FEFF}sep=\t\na\tb\n1\t2\n").rows == [["1", "2"]])
        #expect(reading("sep=;\n").error == "f is empty, or has no header that names the columns")
        // A given delimiter has precedence over the first line.
        #expect(reading("sep=;\na|b\n1|2\n", "|").rows == [["1", "2"]])
    }

    @Test func aSingleColumnNameWithASemicolonOrATabIsRefusedUnlessTheDelimiterIsGiven() {
        let semicolons =
            "f, line 1, column 1: the only column is called \"a;b\", with a semicolon, which may separate columns or not"
        #expect(reading("a;b\n1;2\n").error == semicolons)
        #expect(Reading(.tsv, "a;b\n1;2\n").error == semicolons)
        #expect(reading("a\tb\n1\t2\n").error?.contains("with a tab, which may separate columns or not") == true)
        #expect(reading("a;b\n1;2\n", ",").rows == [["1;2"]])
        #expect(reading("sep=,\na;b\n1;2\n").rows == [["1;2"]])
        #expect(reading("a;b,c\n1;2,3\n").rows == [["1;2", "3"]])
    }
}
