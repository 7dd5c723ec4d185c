import FetchIndexModels
import FetchIndexPlatform
import Foundation
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

@Suite struct RecordTests {
    let entity = Entity("Everything", ValueType.allCases.map { AttributeDescription($0.name, $0) })

    func randomValue(_ type: ValueType, using generator: inout SeededGenerator) -> Value {
        if Int.random(in: 0..<6, using: &generator) == 0 { return .null }
        let number = Int64.random(in: .min ... .max, using: &generator) >> Int64.random(in: 0...63, using: &generator)
        switch type {
        case .boolean: return .boolean(number % 2 == 0)
        case .integer: return .integer(number)
        case .double: return .double(Double(number) / 7)
        case .decimal: return .decimal(Decimal(number) / 100)
        case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(number % 1_000_000_000)))
        case .string: return .string(String(repeating: "虐", count: Int(number.magnitude % 300)))
        case .data: return .data(Data(repeating: 7, count: Int(number.magnitude % 70_000)))
        case .uuid: return .uuid(UUID())
        case .url: return .url(URL(fileURLWithPath: "/\(number)"))
        }
    }

    @Test(arguments: 1...5) func aRecordReadsBackAsItsValues(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            let values = entity.attributes.map { randomValue($0.type, using: &generator) }
            let record = try entity.record(values)
            #expect(try entity.values(of: record.span.bytes) == values, "seed \(seed), round \(round)")
            let view = try RecordView(record.span.bytes)
            let defects = view.check(as: entity)
            #expect(defects == [])
        }
    }

    @Test(arguments: 1...5) func orderKeysOfRecordsEqualThoseOfValues(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            let values = entity.attributes.map { randomValue($0.type, using: &generator) }
            let record = try entity.record(values)
            let view = try RecordView(record.span.bytes)
            for (slot, attribute) in entity.attributes.enumerated() {
                var key: [UInt8] = []
                try view.appendOrderKey(of: slot, as: attribute.type, to: &key)
                var expected: [UInt8] = []
                OrderKey.append(values[slot], to: &expected)
                #expect(key == expected, "seed \(seed), round \(round), \(values[slot])")
            }
        }
    }

    /// Records have decimal texts that `Decimal` wouldn't write, some of them damaged. Each order key must be that of
    /// the value that is read from the record. If reading the value throws, making the key must throw, too.
    @Test func unusualDecimalTextsHaveTheKeysOfTheirValues() throws {
        let texts = [
            "-0", "-0.00", "007", "1.50", ".5", "5.", "-.5", "0.0010", "1e3", "x", "", "-",
            String(repeating: "7", count: 40),
            String(repeating: "7", count: 10_000), "0." + String(repeating: "0", count: 70_000) + "1",
            "1" + String(repeating: "0", count: 169), "0." + String(repeating: "0", count: 140) + "1",
        ]
        for text in texts {
            var builder = RecordBuilder(slots: 1, byteCount: text.utf8.count)
            let bytes = Array(text.utf8)
            builder.appendBytes(bytes.span.bytes)
            let record = builder.finish()
            let view = try RecordView(record.span.bytes)
            var key: [UInt8] = []
            let isRead = (try? view.appendOrderKey(of: 0, as: .decimal, to: &key)) != nil
            var expected: [UInt8] = []
            let value = try? view.value(at: 0, as: .decimal)
            if let value { OrderKey.append(value, to: &expected) }
            #expect(isRead == (value != nil) && key == expected, "\(text.prefix(50))")
        }
    }

    @Test func uuidsOfOtherLengthsThan16BytesAreRefused() throws {
        for count in [0, 15, 16, 17] {
            var builder = RecordBuilder(slots: 1, byteCount: count)
            let bytes = [UInt8](repeating: 7, count: count)
            builder.appendBytes(bytes.span.bytes)
            let record = builder.finish()
            let view = try RecordView(record.span.bytes)
            var key: [UInt8] = []
            let isRead = (try? view.appendOrderKey(of: 0, as: .uuid, to: &key)) != nil
            #expect(isRead == (count == 16) && key.count == (count == 16 ? 17 : 0))
            #expect(((try? view.value(at: 0, as: .uuid)) != nil) == (count == 16))
        }
    }

    @Test func integersTakeAsFewBytesAsTheyNeed() throws {
        let numbers = Entity("Numbers", [AttributeDescription("number", .integer)])
        for (number, bytes) in [
            (0, 0), (1, 1), (-1, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (Int64.max, 8), (.min, 8),
        ] {
            let record = try numbers.record([.integer(number)])
            #expect(record.count == 3 + 1 + 1 + bytes + 4, "\(number)")
            #expect(try numbers.values(of: record.span.bytes) == [.integer(number)])
        }
    }

    private func endsWithChecksum(_ record: [UInt8]) -> Bool { record.span.bytes.endsWithChecksum() }

    /// Stores have this layout, so it must not change.
    @Test func theByteLayoutOfRecordsIsUnchanged() {
        var builder = RecordBuilder()
        var records: [UInt8] = [0xEE]
        #expect(RecordBuilder.empty.dropLast(4).elementsEqual([1, 0, 0]))
        builder.begin()
        builder.appendInteger(-2)
        builder.appendNull()
        builder.appendBytes(Array("ab".utf8).span.bytes)
        let first = builder.finish()
        // The parts are: width 1 | slots 2 | nulls 1 | three ends | values.
        #expect(first.dropLast(4).elementsEqual([1, 3, 0, 0b010, 1, 1, 3, 0xFE, 0x61, 0x62]))
        #expect(endsWithChecksum(first))
        builder.finish(into: &records)
        for (length, width) in [(255, 1), (256, 2), (65_535, 2), (65_536, 4)] {
            builder.begin()
            builder.appendBytes([UInt8](repeating: 7, count: length).span.bytes)
            builder.finish(into: &records)
            let record = builder.finish()
            #expect(record.count == 3 + 1 + width + length + 4 && Int(record[0]) == width)
            #expect(endsWithChecksum(record) && records.suffix(record.count).elementsEqual(record))
        }
        #expect(records.dropFirst().prefix(first.count).elementsEqual(first))
    }

    /// The builder begins without memory, assembles longer and shorter records, and is copied.
    /// Some rounds have values of megabytes, which the builder copies only once.
    @Test(arguments: 1...3 as ClosedRange<UInt64>) func aReusedBuilderMakesCorrectRecords(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func randomCount() -> Int {
            let isLarge = Int.random(in: 0..<12, using: &generator) == 0
            return Int.random(in: isLarge ? 1_048_570...1_048_580 : 0...3000, using: &generator)
        }
        func randomValues() -> [Value] {
            let types: [ValueType?] = [.integer, .double, .boolean, .string, .data, nil]
            return (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                guard let type = types.randomElement(using: &generator) ?? nil else { return .null }
                return Int.random(in: 0..<9, using: &generator) == 0
                    ? .data(Data(repeating: 7, count: randomCount()))
                    : randomValue(type, using: &generator)
            }
        }
        func check(_ builder: RecordBuilder, _ values: [Value], _ round: Int) throws {
            let record = builder.finish()
            let view = try RecordView(record.span.bytes)
            #expect(view.slotCount == values.count && endsWithChecksum(record))
            let wrong = try values.enumerated().first { slot, value in
                let stored = try value.type.map { try view.value(at: slot, as: $0) } ?? .null
                return try stored != value || (view.range(of: slot) == nil) != value.isNull
            }
            #expect(wrong == nil, "seed \(seed), round \(round), slot \(wrong?.offset ?? 0)")
        }
        var builder = RecordBuilder(slots: 0, byteCount: 0)
        for round in 0..<200 {
            let values = [randomValues(), randomValues()]
            builder.begin()
            guard round % 3 == 0 else {
                for value in values[0] { builder.append(value) }
                try check(builder, values[0], round)
                continue
            }
            var copy = builder
            builder.begin()
            copy.begin()
            for slot in 0..<max(values[0].count, values[1].count) {
                if slot < values[0].count { builder.append(values[0][slot]) }
                if slot < values[1].count { copy.append(values[1][slot]) }
            }
            try check(builder, values[0], round)
            try check(copy, values[1], round)
        }
    }

    @Test(arguments: [1, 255, 256, 1 << 40, (1 << 48) - 1] as [UInt64])
    func theValueOfAUniqueKeyIsTheObjectsNumberOrKeyWithAChecksum(
        number: UInt64
    ) throws {
        for (entity, other) in [(0, 0), (3, 3), (3, 0), (0xFFFF, 1)] {
            let key: [UInt8] = [UInt8(other >> 8), UInt8(other & 0xFF), 0, 0]
            let object = RecordKey(entity: entity, number: number)
            var expected: [UInt8] = []
            expected.appendNumber(entity == other ? number : object.rawValue)
            while expected.last == 0 { expected.removeLast() }
            expected.appendChecksum()
            StoreWriter.withUniqueValue(of: object, under: key.span.bytes) {
                let isSame = $0.isEqual(to: expected.span.bytes)
                #expect(isSame)
            }
        }
    }

    @Test func aRecordHasNullsForAttributesThatWereAddedWithoutDefaults() throws {
        let old = Entity("Book", [AttributeDescription("title", .string)])
        let new = Entity("Book", [AttributeDescription("title", .string), AttributeDescription("price", .integer)])
        let record = try old.record(["影との戦い"])
        #expect(try new.values(of: record.span.bytes) == ["影との戦い", .null])
    }

    @Test func errorsNameTheAttributeWithAWrongTypeOrAMissingValue() {
        let book = Entity("Book", [AttributeDescription("title", .string, isOptional: false)])
        #expect(throws: StoreError.invalidValue(entity: "Book", attribute: "title", "is a string, not an integer")) {
            try book.record([5])
        }
        #expect(throws: StoreError.invalidValue(entity: "Book", attribute: "title", "is required")) {
            try book.record([])
        }
    }

    /// Flips every bit in turn, and truncates the record at each length. Reading throws or returns a value. For every
    /// flipped bit, `RecordView` throws or `check` reports a defect.
    @Test func flippedBitsOfARecordAreFoundAndTruncatedRecordsDoNotTrap() throws {
        var generator = SeededGenerator(seed: 3)
        let short = entity.attributes.map { attribute in
            attribute.type == .data ? .data(Data([1, 2])) : randomValue(attribute.type, using: &generator)
        }
        let record = try entity.record(short)
        for offset in record.indices {
            for bit in 0..<8 {
                var damaged = record
                damaged[offset] ^= 1 << UInt8(bit)
                _ = try? entity.values(of: damaged.span.bytes)
                var isFound = true
                do { isFound = try !RecordView(damaged.span.bytes).check(as: entity).isEmpty } catch {}
                #expect(isFound, "bit \(bit) of byte \(offset)")
            }
            let truncated = Array(record[..<offset])
            _ = try? entity.values(of: truncated.span.bytes)
        }
    }
}
