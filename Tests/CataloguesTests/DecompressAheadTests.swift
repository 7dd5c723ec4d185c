import FetchIndexCatalogues
import Foundation
import FetchIndexTestSupport
import Testing

/// A second thread decompresses files while the first one reads rows from the decompressed bytes.
@Suite struct DecompressAheadTests {
    private let folder = TemporaryFolder()
    private let rowCount = 60_000

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func write(_ data: Data) throws -> String {
        let path = folder.path + "/file"
        try data.write(to: URL(fileURLWithPath: path))
        return path
    }

    private func readings(_ format: CatalogueFormat, _ path: String) -> (plain: Reading, ahead: Reading) {
        let input = CatalogueInput(path)
        return (Reading(format, input), Reading(format, input, decompressesAhead: true))
    }

    /// Makes a file of more pieces than the queue takes, with random values that compress badly.
    private func text(_ format: CatalogueFormat, _ generator: inout SeededGenerator) -> String {
        var text = format == .jsonl ? "" : format == .csv ? "a,b\n" : "a\tb\n"
        for row in 0..<rowCount {
            let number = UInt64.random(in: 0...UInt64.max, using: &generator)
            switch format {
            case .csv: text += row % 50 == 0 ? "\"\(row),\n影\",\(number)\r\n" : "\(row),\(number)\n"
            case .tsv: text += "\(row)\t影\(number)\n"
            case .jsonl: text += "{\"a\":\(row),\"b\":\"影\(number)\"}\n"
            }
        }
        return text
    }

    @Test(arguments: [CatalogueFormat.csv, .tsv, .jsonl])
    func decompressionAheadGivesTheSameRows(_ format: CatalogueFormat) throws {
        var generator = SeededGenerator(seed: 1)
        let data = Data(text(format, &generator).utf8)
        let half = data.count / 2
        let files = [
            CompressedFileTests.gzip(Data("\u{FEFF}".utf8) + data), CompressedFileTests.zstd(data),
            CompressedFileTests.gzip(data.prefix(half)) + CompressedFileTests.gzip(data.dropFirst(half)), data,
        ]
        for file in files {
            let (plain, ahead) = try readings(format, write(file))
            let isSame = ahead == plain && plain.rows.count == rowCount && plain.error == nil
            #expect(isSame)
        }
    }

    /// A fault in a file gives the same rows before it, and the same error, with and without decompression ahead.
    @Test func decompressionAheadGivesTheSameErrors() throws {
        var generator = SeededGenerator(seed: 3)
        let text = text(.csv, &generator)
        let gzip = CompressedFileTests.gzip(Data(text.utf8))
        var wrongChecksum = gzip
        wrongChecksum[wrongChecksum.count - 6] ^= 1
        let middle = gzip.count / 2
        let files = [
            CompressedFileTests.gzip(Data((text + "\"x").utf8)), gzip.dropLast(200_000), wrongChecksum,
            gzip.prefix(middle) + gzip.dropFirst(middle + 1000), gzip + Data("rubbish".utf8),
            CompressedFileTests.zstd(Data(text.utf8)).dropLast(200_000),
        ]
        for (index, file) in files.enumerated() {
            let (plain, ahead) = try readings(.csv, write(file))
            let isSame = ahead == plain && plain.error != nil && plain.rows.count > 20_000
            #expect(isSame, "file \(index): \(plain.error ?? "no error"), \(ahead.error ?? "no error")")
        }
    }

    /// The body throws at row 1, 5,000 or 59,999. At row 1, the second thread may wait with decompressed pieces.
    @Test func anErrorOfTheBodyEndsTheReading() throws {
        struct Refused: Error {}
        var generator = SeededGenerator(seed: 4)
        let path = try write(CompressedFileTests.gzip(Data(text(.csv, &generator).utf8)))
        for last in [1, 5_000, rowCount - 1] {
            let source = try CatalogueFormat.csv.open(CatalogueInput(path))
            source.decompressesAhead = true
            var rows = 0
            var done = source.progress.done
            #expect(throws: Refused.self) {
                try source.forEachRow(
                    { _ in
                        rows += 1
                        let progress = source.progress
                        #expect(progress.done >= done && progress.done <= progress.total)
                        done = progress.done
                        if rows == last { throw Refused() }
                    }, bad: { throw $0 })
            }
            #expect(rows == last)
        }
    }
}
