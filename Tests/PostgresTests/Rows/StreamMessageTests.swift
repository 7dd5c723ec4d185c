import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Messages of the protocol, assembled by hand from its documentation.
@Suite struct StreamMessageTests {
    private struct Bytes {
        var bytes: [UInt8] = []

        init(_ letter: Character) { bytes = [letter.asciiValue ?? 0] }

        func byte(_ value: UInt8) -> Bytes { adding([value]) }
        func short(_ value: UInt16) -> Bytes { adding(withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) }) }
        func long(_ value: UInt32) -> Bytes { adding(withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) }) }
        func wide(_ value: UInt64) -> Bytes { adding(withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) }) }
        func text(_ value: String) -> Bytes { adding([UInt8](value.utf8) + [0]) }
        func letter(_ letter: Character) -> Bytes { byte(letter.asciiValue ?? 0) }
        /// A value of a row.
        func field(_ value: String) -> Bytes { letter("t").long(UInt32(value.utf8.count)).adding([UInt8](value.utf8)) }

        private func adding(_ more: [UInt8]) -> Bytes {
            var copy = self
            copy.bytes += more
            return copy
        }
    }

    private func read(_ bytes: [UInt8]) throws -> StreamMessage { try StreamMessage(bytes.span.bytes) }
    private func read(_ bytes: Bytes) throws -> StreamMessage { try read(bytes.bytes) }

    private func text(_ value: StreamedValue, in bytes: Bytes) -> String? {
        guard case .text(let range) = value else { return nil }
        return String(decoding: bytes.bytes[range], as: UTF8.self)
    }

    @Test func transactionsBeginAndEndWithPositionsAndTimes() throws {
        // 2001-01-01, in microseconds since 2000.
        let begin = try read(Bytes("B").wide(0x16_B374_D848).wide(31_622_400_000_000).long(7))
        #expect(begin == .begin(end: LogPosition(0x16_B374_D848), time: 978_307_200, transaction: 7))
        #expect(LogPosition(0x16_B374_D848).description == "16/B374D848")
        #expect(LogPosition("16/B374D848") == LogPosition(0x16_B374_D848))
        let commit = try read(Bytes("C").byte(0).wide(1).wide(0x20).wide(0))
        #expect(commit == .commit(next: LogPosition(0x20), time: 946_684_800))
    }

    @Test func tablesHaveColumnsWithTypes() throws {
        let bytes = Bytes("R").long(16_384).text("public").text("books").letter("d").short(2).byte(1).text("id").long(
            20
        )
        .long(.max).byte(0).text("タイトル").long(25).long(.max)
        guard case .table(let table) = try read(bytes) else { throw Failed() }
        #expect(table.number == 16_384 && table.schema == "public" && table.name == "books")
        #expect(table.columns.map(\.name) == ["id", "タイトル"] && table.columns.map(\.type) == [20, 25])
        #expect(table.columns.map(\.isIdentity) == [true, false])
    }

    private struct Failed: Error {}

    @Test func rowsHaveTextsNullsAndUnchangedValues() throws {
        let insert = Bytes("I").long(5).letter("N").short(3).field("1").letter("n").field("a\tb")
        guard case .insert(5, let row) = try read(insert) else { throw Failed() }
        #expect(row.map { text($0, in: insert) } == ["1", nil, "a\tb"] && row[1] == .null)

        let update = Bytes("U").long(5).letter("K").short(1).field("1").letter("N").short(2).field("2").letter("u")
        guard case .update(5, let old?, let new) = try read(update) else { throw Failed() }
        #expect(text(old[0], in: update) == "1" && text(new[0], in: update) == "2" && new[1] == .unchanged)

        let plain = Bytes("U").long(5).letter("N").short(1).field("2")
        guard case .update(5, nil, let only) = try read(plain) else { throw Failed() }
        #expect(only.count == 1)

        let delete = Bytes("D").long(5).letter("O").short(1).field("9")
        guard case .delete(5, let gone) = try read(delete) else { throw Failed() }
        #expect(text(gone[0], in: delete) == "9")
        #expect(try read(Bytes("T").long(2).byte(0).long(5).long(6)) == .truncate(tables: [5, 6]))
        #expect(try read(Bytes("Y").long(5)) == .other)
    }

    @Test func shortMessagesWrongLengthsAndUnknownLettersAreRefused() throws {
        let whole = [
            Bytes("B").wide(1).wide(2).long(3), Bytes("C").byte(0).wide(1).wide(2).wide(3),
            Bytes("R").long(1).text("public").text("b").letter("d").short(1).byte(1).text("id").long(20).long(0),
            Bytes("I").long(5).letter("N").short(2).field("abc").letter("n"),
            Bytes("U").long(5).letter("K").short(1).field("1").letter("N").short(1).field("2"),
            Bytes("D").long(5).letter("K").short(1).field("1"), Bytes("T").long(1).byte(0).long(5),
        ]
        for message in whole {
            _ = try read(message)
            for length in 0..<message.bytes.count {
                #expect(throws: StreamMessage.Malformed.self) { try read(Array(message.bytes[..<length])) }
            }
            #expect(throws: StreamMessage.Malformed.self) { try read(message.bytes + [0]) }
        }
        let lies = [
            // Counts and lengths exceed the message, or a letter is unknown.
            Bytes("T").long(.max).byte(0).long(5), Bytes("I").long(5).letter("N").short(.max).field("a"),
            Bytes("I").long(5).letter("N").short(1).letter("t").long(.max), Bytes("I").long(5).letter("X").short(0),
            Bytes("R").long(1).text("public").text("b").letter("d").short(.max), Bytes("?"),
            Bytes("I").long(5).letter("N").short(1).letter("?"),
        ]
        for message in lies { #expect(throws: StreamMessage.Malformed.self) { try read(message) } }
    }

    @Test func copiedRowsAreReadAsTheServerWritesThem() {
        func fields(_ text: String) -> [String?] {
            var row = CopiedRow()
            Array(text.utf8).withUnsafeBytes { row.read($0) }
            return row.fields.map { field in
                guard case .text(let range) = field else { return nil }
                return String(decoding: row.bytes[range], as: UTF8.self)
            }
        }
        #expect(fields("1\ta b\t\n") == ["1", "a b", ""])
        #expect(fields("\\N\t\\\\N\tx\\ty\\nz\\\\\\b\\f\\r\\v\n") == [nil, "\\N", "x\ty\nz\\\u{8}\u{C}\r\u{B}"])
        #expect(fields("\n") == [""])
        #expect(fields("日本\\t語\t\\N") == ["日本\t語", nil])
    }

    @Test func valuesAreReadFromTheirTexts() throws {
        func value(_ text: String, _ type: ValueType) -> Value? {
            Array(text.utf8).withUnsafeBytes { ColumnValue.value($0, as: type) }
        }
        func date(_ text: String) -> Value { .date(Date(timeIntervalSince1970: Double(text) ?? 0)) }
        #expect(value("-9223372036854775808", .integer) == .integer(.min))
        #expect(value("9223372036854775807", .integer) == .integer(.max))
        #expect(
            value("9223372036854775808", .integer) == nil && value("-", .integer) == nil && value("", .integer) == nil)
        #expect(value("t", .boolean) == true && value("f", .boolean) == false)
        #expect(value("10.50", .decimal) == .decimal(Decimal(string: "10.5")!))
        #expect(value("99999999999999999999999999999999999999", .decimal) != nil)
        #expect(value("0.10000000000000000000000000000000000000000000", .decimal) == .decimal(Decimal(string: "0.1")!))
        #expect(value("123456789012345678901234567890123456789.5", .decimal) == nil)
        #expect(value("1.23456789012345678901234567890123456789012", .decimal) == nil && value("NaN", .decimal) == nil)
        #expect(
            value("Infinity", .double) == .double(.infinity)
                && value("1e-310", .double) == Double("1e-310").map { .double($0) })
        #expect(value("2024-02-29", .date) == date("1709164800"))
        #expect(value("2024-02-29 23:59:59.25+00", .date) == date("1709251199.25"))
        #expect(value("1969-12-31 23:59:59", .date) == date("-1"))
        #expect(value("0001-12-31 BC", .date) == date("-62135683200"))
        #expect(value("294276-12-31 00:00:00+00", .date) != nil)
        // A date in the year 9999 can't hold microseconds: these digits are cut off, like those of dates in files.
        let last = value("9999-12-31 23:59:59.999999", .date)
        #expect(
            last == Value("9999-12-31T23:59:59.999999Z", as: .date) && last?.description == "9999-12-31T23:59:59.999Z")
        #expect(
            value("infinity", .date) == nil && value("2024-13-01", .date) == nil && value("2024-02-29 x", .date) == nil)
        #expect(value("\\x00ff", .data) == .data(Data([0, 255])) && value("00ff", .data) == nil)
        let uuid = UUID()
        #expect(value(uuid.uuidString.lowercased(), .uuid) == .uuid(uuid))
    }

    @Test(arguments: [16, 4096, 1 << 20]) func aBufferHandsOutItsMessagesInOrder(mostBytes: Int) throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        var random = SeededGenerator(seed: UInt64(mostBytes))
        var buffer = TransactionBuffer(folder: folder.path, mostBytes: mostBytes)
        var expected: [[UInt8]] = []
        for _ in 0..<300 {
            let message = (0..<Int.random(in: 0...100, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            expected.append(message)
            try message.withUnsafeBytes { try buffer.append($0) }
        }
        #expect(buffer.count == 300)
        for _ in 0..<2 {
            var found: [[UInt8]] = []
            try buffer.forEach { found.append([UInt8]($0)) }
            #expect(found == expected)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
