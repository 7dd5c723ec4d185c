import FetchIndexPlatform
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// Bounds of values, and the object numbers that are left after zones are skipped.
@Suite struct ZoneBoundsTests {
    static func value(_ type: ValueType, _ generator: inout SeededGenerator) -> Value {
        let number = Int.random(in: -300...300, using: &generator)
        let bytes = (0..<Int.random(in: 0...36, using: &generator)).map { place in
            // Most texts begin alike, and some end in the middle of eight bytes, which are compared as a number.
            place < 30 && number % 3 > 0 ? 97 : UInt8([0, 1, 97, 255].randomElement(using: &generator)!)
        }
        switch type {
        case .boolean: return .boolean(number > 0)
        case .integer: return .integer([Int64(number), .min, .max].randomElement(using: &generator)!)
        case .double:
            return .double(
                [Double(number) / 7, -0.0, 0, .infinity, -.infinity, .nan].randomElement(using: &generator)!)
        case .decimal: return .decimal(Decimal(number))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(number)))
        case .string:
            return .string(String(decoding: bytes.map { $0 % 128 }, as: UTF8.self) + (number % 5 == 0 ? "影" : ""))
        case .data: return .data(Data(bytes))
        case .uuid: return .uuid(UUID(uuid: UUID().uuid))
        case .url: return .url(URL(string: "https://example.org/\(number)")!)
        }
    }

    /// Whether a value precedes another by their `OrderKey`s.
    private static func precedes(_ left: Value, _ right: Value) -> Bool {
        var keys: ([UInt8], [UInt8]) = ([], [])
        OrderKey.append(left, to: &keys.0)
        OrderKey.append(right, to: &keys.1)
        return keys.0.lexicographicallyPrecedes(keys.1)
    }

    @Test(arguments: ValueType.allCases) func boundKeysKeepTheOrderOfTheirValues(type: ValueType) {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let (left, right) = (Self.value(type, &generator), Self.value(type, &generator))
            guard let key = BoundKey(left), let other = BoundKey(right) else {
                #expect(type == .decimal)
                continue
            }
            if Self.precedes(left, right) { #expect(key <= other, "\(left) \(right)") }
            if Self.precedes(right, left) { #expect(other <= key, "\(left) \(right)") }
            #expect(BoundKey(key.bytes.span.bytes) == key)
        }
    }

    /// Bounds accept each of their values in tests for equality, in comparisons, and in tests for prefixes. Except for
    /// decimals, they refuse many other values.
    @Test(arguments: ValueType.allCases) func boundsAcceptEachOfTheirValues(type: ValueType) throws {
        var generator = SeededGenerator(seed: 2)
        let entity = Entity("One", [AttributeDescription("value", type)])
        var refused = 0
        for round in 0..<300 {
            let count = Int.random(in: 0...4, using: &generator)
            var values = (0..<count).map { _ in Self.value(type, &generator) }
            if round % 3 == 0 { values.append(.null) }
            var bounds = ValueBounds(of: type)
            for value in values {
                let record = try entity.record([value])
                _ = try bounds.include(0, of: RecordView(record.span.bytes))
                #expect(try !bounds.include(0, of: RecordView(record.span.bytes)))
            }
            var bytes: [UInt8] = []
            bounds.append(to: &bytes)
            bytes.appendChecksum()
            var reader = try ByteReader(checked: bytes.span.bytes, "bounds")
            #expect(try ValueBounds(&reader) == bounds && reader.isAtEnd)
            for _ in 0..<20 {
                let other = Int.random(in: 0..<8, using: &generator) == 0 ? Value.null : Self.value(type, &generator)
                let place = "round \(round): \(values), \(other)"
                if values.contains(other) { #expect(bounds.mayHave(other), "\(place)") }
                if !bounds.mayHave(other) { refused += 1 }
                if other.isNull { continue }
                let present = values.filter { !$0.isNull }
                if present.contains(where: { !Self.precedes(other, $0) }) {
                    #expect(bounds.mayHave(lessOrEqual: other), "\(place)")
                }
                if present.contains(where: { !Self.precedes($0, other) }) {
                    #expect(bounds.mayHave(greaterOrEqual: other), "\(place)")
                }
                guard case .string(let text) = other else { continue }
                let prefix = String(text.prefix(Int.random(in: 1...40, using: &generator)))
                let hasPrefix = present.contains {
                    if case .string(let text) = $0 { text.utf8.starts(with: prefix.utf8) } else { false }
                }
                if hasPrefix { #expect(bounds.mayHave(prefix: prefix), "\(place)") }
                if !bounds.mayHave(prefix: prefix) { refused += 1 }
            }
        }
        #expect(refused > 100 || type == .decimal, "\(refused)")
    }

    /// Cutting ranges with gaps gives the same numbers as cutting a list of all their numbers.
    @Test func rangesWithGapsAreCutLikeTheListOfTheirNumbers() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<300 {
            var ranges: [Range<UInt64>] = []
            var start: UInt64 = 0
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                start += UInt64.random(in: 0...3, using: &generator)
                let end = start + UInt64.random(in: 0...6, using: &generator)
                ranges.append(start..<end)
                start = end + 1
            }
            let list = ranges.flatMap { Array($0) }
            let parts = NumberParts(ranges)
            #expect(parts.count == UInt64(list.count))
            let lower = Int.random(in: 0...list.count + 1, using: &generator)
            let upper = Int.random(in: lower...list.count + 4, using: &generator)
            let expected = Array(list.dropFirst(lower).prefix(upper - lower))
            #expect(
                parts[UInt64(lower)..<UInt64(upper)].flatMap { Array($0) } == expected, "\(ranges) \(lower) \(upper)")
        }
    }
}
