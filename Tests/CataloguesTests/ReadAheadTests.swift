import Catalogues
import Foundation
import TestSupport
import Testing

/// Files whose next bytes another thread reads while their rows are used.
@Suite struct ReadAheadTests {
    private let folder = TemporaryFolder()

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func write(_ data: Data) throws -> String {
        let path = folder.path + "/file"
        try data.write(to: URL(fileURLWithPath: path))
        return path
    }

    private func readings(_ format: CatalogueFormat, _ path: String) -> (plain: Reading, ahead: Reading) {
        var input = CatalogueInput(path)
        let plain = Reading(format, input)
        input.readsAhead = true
        return (plain, Reading(format, input))
    }

    /// Of random values, so that it stays long when it is compressed: several pieces that are read ahead.
    private func text(_ format: CatalogueFormat, _ generator: inout SeededGenerator) -> String {
        var text = format == .jsonl ? "" : format == .csv ? "a,b\n" : "a\tb\n"
        for row in 0..<60_000 {
            let number = UInt64.random(in: 0...UInt64.max, using: &generator)
            switch format {
            case .csv: text += row % 50 == 0 ? "\"\(row),\n影\",\(number)\r\n" : "\(row),\(number)\n"
            case .tsv: text += "\(row)\t影\(number)\n"
            case .jsonl: text += "{\"a\":\(row),\"b\":\"影\(number)\"}\n"
            }
        }
        return text
    }

    @Test(arguments: [CatalogueFormat.csv, .tsv, .jsonl], [1, 2] as [UInt64])
    func rowsAreTheSame(_ format: CatalogueFormat, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let data = Data(text(format, &generator).utf8)
        for file in [data, CompressedFileTests.gzip(data), CompressedFileTests.zstd(data)] {
            let (plain, ahead) = try readings(format, write(file))
            #expect(ahead == plain && plain.rows.count == 60_000 && plain.error == nil, "seed \(seed)")
        }
    }

    /// The rows before the fault come first, and then its error.
    @Test func faultsAreTheSame() throws {
        var generator = SeededGenerator(seed: 3)
        let data = Data(text(.csv, &generator).utf8)
        let files = [
            data.dropLast(2) + Data("\"x".utf8), CompressedFileTests.gzip(data).dropLast(200_000),
            CompressedFileTests.zstd(data).dropLast(200_000), CompressedFileTests.gzip(data) + Data("rubbish".utf8),
        ]
        for file in files {
            let (plain, ahead) = try readings(.csv, write(file))
            #expect(ahead == plain && plain.error != nil && plain.rows.count > 20_000)
        }
    }

    /// Also when most of the file is not read yet.
    @Test func anErrorOfARowEndsTheReading() throws {
        struct Refused: Error {}
        var generator = SeededGenerator(seed: 4)
        let path = try write(Data(text(.csv, &generator).utf8))
        for last in [1, 30_000] {
            var input = CatalogueInput(path)
            input.readsAhead = true
            let source = try CatalogueFormat.csv.open(input)
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
