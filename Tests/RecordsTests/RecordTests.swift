import Models
import Foundation
import TestSupport
import Testing
import Values

@testable import Records

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

    @Test(arguments: 1...5) func orderKeysAreThoseOfTheValues(seed: UInt64) throws {
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

    /// Texts that `Decimal` would not write, damaged ones among them, are read as it reads them.
    @Test func otherTextsOfDecimalsHaveTheKeysOfTheirValues() throws {
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

    @Test func aUUIDHas16Bytes() throws {
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

    @Test func attributesAddedLaterAreNull() throws {
        let old = Entity("Book", [AttributeDescription("title", .string)])
        let new = Entity("Book", [AttributeDescription("title", .string), AttributeDescription("price", .integer)])
        let record = try old.record(["影との戦い"])
        #expect(try new.values(of: record.span.bytes) == ["影との戦い", .null])
    }

    @Test func wrongTypesAndMissingValuesAreErrorsWithNames() {
        let book = Entity("Book", [AttributeDescription("title", .string, isOptional: false)])
        #expect(throws: StoreError.invalidValue(entity: "Book", attribute: "title", "is a string, not an integer")) {
            try book.record([5])
        }
        #expect(throws: StoreError.invalidValue(entity: "Book", attribute: "title", "is required")) {
            try book.record([])
        }
    }

    /// Every byte flipped in turn and every truncation: an error or a value, never a trap, and the check finds it.
    @Test func damagedRecordsNeverTrap() throws {
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
