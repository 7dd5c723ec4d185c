import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

/// Makes a random value of a type, such that many values are equal, share a prefix or are extreme.
func randomValue(_ type: ValueType, using generator: inout SeededGenerator) -> Value {
    func any<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &generator)]
    }
    switch type {
    case .boolean: return .boolean(any([true, false]))
    case .integer:
        return .integer(any([0, 1, -1, 255, 256, -256, .min, .max, .random(in: .min ... .max, using: &generator)]))
    case .double:
        return .double(
            any([
                0, -0.0, 1, -1, 0.5, .infinity, -.infinity, .leastNonzeroMagnitude,
                .random(in: -1e9...1e9, using: &generator),
            ]))
    case .decimal:
        let digits = Int.random(in: -99_999...99_999, using: &generator)
        return .decimal(
            any([0, Decimal(digits), Decimal(digits) / 1000, Decimal(digits) * 1_000_000_000_000, 1, 10, 100, -10]))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: .random(in: -1e9...1e9, using: &generator)))
    case .string:
        let letters = ["a", "b", "\0", "\u{1}", "é", "か", "𠮷", "z", "\u{7F}"]
        return .string((0..<Int.random(in: 0...4, using: &generator)).map { _ in any(letters) }.joined())
    case .data:
        return .data(Data((0..<Int.random(in: 0...4, using: &generator)).map { _ in any([0, 1, 0xFE, 0xFF, 7]) }))
    case .uuid: return .uuid(any([UUID(), UUID(uuidString: "00000000-0000-0000-0000-000000000001") ?? UUID()]))
    case .url: return .url(any([URL(string: "https://example.org/a"), URL(string: "file:///b")].compactMap { $0 }))
    }
}

@Suite struct OrderKeyTests {
    struct Component {
        let value: Value
        let isDescending: Bool
    }

    func key(_ components: [Component]) -> [UInt8] {
        var key: [UInt8] = []
        for component in components {
            let start = key.count
            OrderKey.append(component.value, to: &key)
            if component.isDescending { OrderKey.reverse(&key, from: start) }
        }
        return key
    }

    /// The expected order of two keys: null is first in ascending and last in descending order; other values are in
    /// their own order.
    func compare(_ left: [Component], _ right: [Component]) -> Int {
        for (left, right) in zip(left, right) {
            let order: Int
            switch (left.value.isNull, right.value.isNull) {
            case (true, true): order = 0
            case (true, false): order = -1
            case (false, true): order = 1
            case (false, false):
                switch left.value.compare(to: right.value) {
                case .ascending: order = -1
                case .descending: order = 1
                case .same: order = 0
                case nil: Issue.record("\(left.value) and \(right.value) have no order"); order = 0
                }
            }
            if order != 0 { return left.isDescending ? -order : order }
        }
        return 0
    }

    @Test(arguments: 1...20) func orderKeysCompareLikeTheirValues(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for round in 0..<2000 {
            let types = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                ValueType.allCases.randomElement(using: &generator) ?? .string
            }
            let directions = types.map { _ in Bool.random(using: &generator) }
            func components() -> [Component] {
                zip(types, directions).map { type, isDescending in
                    let isNull = Int.random(in: 0..<8, using: &generator) == 0
                    return Component(
                        value: isNull ? .null : randomValue(type, using: &generator), isDescending: isDescending)
                }
            }
            let left = components(), right = components()
            let leftKey = key(left), rightKey = key(right)
            let byBytes =
                leftKey == rightKey ? 0 : leftKey.lexicographicallyPrecedes(rightKey) ? -1 : 1
            #expect(byBytes == compare(left, right), "seed \(seed), round \(round): \(left) and \(right)")
        }
    }

    @Test func anOrderKeyReadsBackAsItsValue() throws {
        var generator = SeededGenerator(seed: 5)
        for type in ValueType.allCases {
            for _ in 0..<200 {
                let value = randomValue(type, using: &generator)
                let bytes = key([
                    Component(value: value, isDescending: false), Component(value: "next", isDescending: true),
                ])
                let decoded = OrderKey.first(in: bytes.span.bytes)
                let first = try #require(decoded)
                // An order key has 0.0 for -0.0.
                #expect(first.value == (value == .double(-0.0) ? .double(0) : value))
                #expect(first.value.type == type)
                let second = key([Component(value: "next", isDescending: true)])
                #expect(Array(bytes[first.length...]) == second)
            }
        }
        let null: [UInt8] = [2]
        let decoded = OrderKey.first(in: null.span.bytes)
        #expect(decoded?.value == .null)
    }

    @Test func malformedOrderKeysReadAsNil() {
        let bad: [[UInt8]] = [
            [], [0], [1], [3], [4, 1, 2], [8, 65, 66], [8, 0xFF, 0, 1], [8, 65, 0], [8, 65, 0, 2], [12, 0], [6],
            [6, 0x81], [6, 0x81, 0, 0, 77, 0], [10, 1],
        ]
        for bytes in bad {
            let decoded = OrderKey.first(in: bytes.span.bytes)
            #expect(decoded == nil, "\(bytes)")
        }
    }

    @Test func decimalsFromTheLeastToTheGreatestReadBackAndCompareInOrder() throws {
        let decimals: [Decimal] = [
            -.greatestFiniteMagnitude, -12_300, -12.3, -0.001, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude,
            0.001, 0.0011, 1.5, 99, 100, .greatestFiniteMagnitude,
        ]
        var last: [UInt8] = []
        for decimal in decimals {
            var key: [UInt8] = []
            OrderKey.append(.decimal(decimal), to: &key)
            let decoded = OrderKey.first(in: key.span.bytes)
            let first = try #require(decoded)
            #expect(first.value == .decimal(decimal))
            #expect(first.length == key.count)
            #expect(last.lexicographicallyPrecedes(key))
            last = key
        }
    }

    @Test func malformedDecimalBytesAreNotAppended() {
        for text in ["", "-", ".", "-.", "1.2.3", "12a", "NaN", " 1", "1e5", "--1", "1-"] {
            var key: [UInt8] = [77]
            let isNumber = OrderKey.appendDecimal(Array(text.utf8).span.bytes, to: &key)
            #expect(!isNumber, "\(text)")
            #expect(key == [77], "\(text)")
        }
    }
}
