import CFetchIndexZlib
import CFetchIndexZstd
import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCatalogues

/// Catalogues that are compressed, or read from a pipe.
@Suite struct CompressedFileTests {
    private let folder = TemporaryFolder()
    private let text: String

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        text = "a,b\n" + (0..<20_000).map { "\($0),text \($0 * 7919 % 20_011)\n" }.joined()
    }

    static func gzip(_ data: Data) -> Data {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        #expect(deflateInit2_(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK)
        var input = [UInt8](data)
        var output = [UInt8](repeating: 0, count: input.count + 1000)
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
                (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
                #expect(deflate(&stream, Z_FINISH) == Z_STREAM_END)
                return output.count - Int(stream.avail_out)
            }
        }
        deflateEnd(&stream)
        return Data(output.prefix(count))
    }

    static func zstd(_ data: Data, hasChecksum: Bool = true) -> Data {
        let input = [UInt8](data)
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(input.count))
        let context = ZSTD_createCCtx()
        defer { ZSTD_freeCCtx(context) }
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, hasChecksum ? 1 : 0)
        let count = ZSTD_compress2(context, &output, output.count, input, input.count)
        return Data(output.prefix(count))
    }

    private func write(_ data: Data, _ name: String = "file") throws -> String {
        let path = folder.path + "/" + name
        try data.write(to: URL(fileURLWithPath: path))
        return path
    }

    private func rows(_ input: CatalogueInput) throws -> [[String]] {
        let source = try CatalogueFormat.csv.open(input)
        input.endSampling()
        var rows = [source.columns]
        try source.forEachRow(
            { row in rows.append((0..<row.count).map { row.text(of: $0) }) },
            bad: { throw $0 })
        return rows
    }

    private var expected: [[String]] {
        text.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
    }

    @Test func compressedFilesGiveTheSameRowsAsThePlainFile() throws {
        let data = Data(text.utf8)
        let half = data.count / 2
        let files = [
            data, Self.gzip(data), Self.zstd(data),
            // If the data has no checksum at its end, output may be left after all input was read.
            Self.zstd(data, hasChecksum: false),
            // A skippable frame comes first.
            Data([0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 7, 7]) + Self.zstd(data),
            // The file has several members or frames, one of them empty.
            Self.gzip(data.prefix(half)) + Self.gzip(Data()) + Self.gzip(data.dropFirst(half)),
            Self.zstd(data.prefix(half)) + Self.zstd(Data()) + Self.zstd(data.dropFirst(half)),
            Self.gzip(Data("\u{FEFF}".utf8) + data),
        ]
        for file in files {
            let path = try write(file)
            #expect(try rows(CatalogueInput(path)) == expected)
            #expect(try rows(CatalogueInput.opening(path)) == expected)
            for length in [1, 7, 4096] { #expect(try rows(CatalogueInput(path, pieceLength: length)).count == 20_001) }
        }
        let names = ["a.csv.gz", "a.tsv.zst", "b.jsonl.zstd", "c.CSV.GZ", "c.gz", "gz"]
        #expect(names.map { CatalogueFormat(path: $0) } == [.csv, .tsv, .jsonl, .csv, nil, nil])
    }

    /// Three readers read a pipe's beginning, and then one reads all rows: none is missing.
    @Test func severalReadersMayReadTheBeginningOfAPipe() throws {
        for data in [Data(text.utf8), Self.gzip(Data(text.utf8)), Self.zstd(Data(text.utf8))] {
            let file = try write(data)
            let pipe = folder.path + "/pipe \(data.count)"
            #expect(try TemporaryFolder.run("mkfifo", [pipe]).status == 0)
            let writer = Process()
            writer.executableURL = URL(fileURLWithPath: "/bin/sh")
            writer.arguments = ["-c", "cat \"$0\" > \"$1\"", file, pipe]
            try writer.run()
            let input = try CatalogueInput.opening(pipe)
            for _ in 0..<3 { #expect(try CatalogueFormat.csv.open(input).columns == ["a", "b"]) }
            #expect(try rows(input) == expected)
            writer.waitUntilExit()
        }
    }

    @Test func truncatedFilesAndMostDamagedFilesAreRefused() throws {
        let data = Data((text.prefix(TestSettings.isLong ? 3000 : 700)).utf8)
        for (compressed, name) in [(Self.gzip(data), "gzip"), (Self.zstd(data), "zstd")] {
            for length in stride(from: 5, to: compressed.count, by: 3) {
                let path = try write(compressed.prefix(length))
                #expect {
                    try rows(CatalogueInput(path))
                } throws: { error in
                    "\(error)" == "\(path) ends within its \(name) data"
                }
            }
            var found = 0
            for offset in 10..<compressed.count {
                var damaged = compressed
                damaged[offset] ^= 0x10
                do { _ = try rows(CatalogueInput(write(damaged))) } catch { found += 1 }
            }
            // A flipped bit may change nothing, for example in the padding at the end of gzip's compressed data.
            #expect(found > (compressed.count - 10) * 95 / 100)
            let trailing = try write(compressed + Data("rubbish".utf8))
            #expect(throws: UnreadableFile.self) { try rows(CatalogueInput(trailing)) }
        }
        for empty in [Data(), Self.gzip(Data()), Self.zstd(Data())] {
            let path = try write(empty)
            #expect {
                try rows(CatalogueInput(path))
            } throws: { error in
                (error as? UnreadableFile)?.isEmpty == true
            }
        }
    }
}
