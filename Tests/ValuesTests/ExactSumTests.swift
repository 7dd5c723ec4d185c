import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

extension ExactSum {
    var bytes: [UInt8] {
        var (sum, bytes) = (self, [] as [UInt8])
        sum.take(to: &bytes)
        return bytes
    }

    fileprivate var double: Double {
        let bytes = bytes
        return EncodedSum(bytes.span.bytes, base).double
    }
    fileprivate var decimal: Decimal {
        let bytes = bytes
        return EncodedSum(bytes.span.bytes, base).decimal
    }
    fileprivate var integer: Int64? {
        let bytes = bytes
        return EncodedSum(bytes.span.bytes, .binary).integer
    }
}

/// The sum of numbers equals the sum that 128-bit integers or decimals give.
@Suite struct ExactSumTests {
    func bytes(_ sum: ExactSum) -> [UInt8] { sum.bytes }

    /// Encodes the parts as bytes, and adds up the encoded sums.
    private func joined(_ base: ExactSum.Base, _ parts: [ExactSum]) throws -> ExactSum {
        var sum = ExactSum(base)
        for part in parts {
            let bytes = bytes(part)
            let isAdded = sum.add(bytes.span.bytes)
            #expect(isAdded)
        }
        return sum
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func integersAddUpExactly(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let extremes: [Int64] = [.min, .max, 0, -1, 1, 1 << 32, -(1 << 32)]
        let numbers = (0..<200).map { _ in
            Bool.random(using: &generator)
                ? Int64.random(in: .min...(.max), using: &generator) : extremes.randomElement(using: &generator)!
        }
        let parts = stride(from: 0, to: 200, by: 40).map { start in
            var sum = ExactSum(.binary)
            for number in numbers[start..<start + 40] { sum.add(number) }
            return sum
        }
        let sum = try joined(.binary, parts.shuffled(using: &generator))
        let expected = numbers.reduce(Int128(0)) { $0 + Int128($1) }
        #expect(sum.integer == Int64(exactly: expected), "seed \(seed)")
        #expect(sum.decimal == Decimal(string: "\(expected)"), "seed \(seed)")
        #expect(sum.double == Double(expected), "seed \(seed)")
    }

    @Test func sumsOfIntegersAtTheEdgesOf64BitsAreExact() {
        for (numbers, expected) in [
            ([Int64.max], Int64.max), ([.min], .min), ([.max, 1], nil), ([.min, -1], nil), ([.min, .max], -1), ([], 0),
            ([.max, 1, -1], .max), ([.min, -1, 1], .min), ([5, -5], 0),
        ] as [([Int64], Int64?)] {
            var sum = ExactSum(.binary)
            for number in numbers { sum.add(number) }
            #expect(sum.integer == expected, "\(numbers)")
        }
    }

    /// The doubles are multiples of 2^-60 that fit into 128 bits.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func sumsOfDoublesAreRoundedOnce(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let unit = Double(sign: .plus, exponent: -60, significand: 1)
        var exact = Int128(0)
        let parts = (0..<8).map { _ in
            var sum = ExactSum(.binary)
            for _ in 0..<30 {
                let significand = Int64.random(in: -(1 << 53)...(1 << 53), using: &generator)
                let shift = Int.random(in: 0...60, using: &generator)
                exact += Int128(significand) << Int128(shift)
                _ = sum.add(Double(significand) * Double(sign: .plus, exponent: shift, significand: 1) * unit)
            }
            return sum
        }
        let expected = Double(exact) * unit
        let sum = try joined(.binary, parts)
        #expect(sum.double == expected, "seed \(seed)")
        #expect(try bytes(joined(.binary, parts.shuffled(using: &generator))) == bytes(sum), "seed \(seed)")
    }

    /// Doubles of all sizes are added. Then the opposites of all except one are added in another order.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func oppositeDoublesOfAllSizesCancelExactly(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func random() -> Double {
            while true {
                let number = Double(bitPattern: UInt64.random(in: 0...(.max), using: &generator))
                if number.isFinite { return number }
            }
        }
        let edges = [Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, .leastNormalMagnitude, 0, -0.0, 1]
        let numbers = (0..<100).map { _ in random() } + edges + edges.map { -$0 }
        for last in edges + [random(), random()] {
            var sum = ExactSum(.binary)
            for number in numbers.shuffled(using: &generator) { _ = sum.add(number) }
            _ = sum.add(last)
            for number in numbers.shuffled(using: &generator) { _ = sum.add(-number) }
            #expect(sum.double == last, "seed \(seed)")
        }
    }

    @Test func sumsWithInfinitiesAndNaNFollowIEEE() throws {
        func sum(_ numbers: Double...) throws -> Double {
            try joined(
                .binary,
                numbers.map { number in
                    var sum = ExactSum(.binary)
                    _ = sum.add(number)
                    return sum
                }
            ).double
        }
        #expect(try sum(.infinity, 1) == .infinity)
        #expect(try sum(1, -.infinity) == -.infinity)
        #expect(try sum(.infinity, -.infinity).isNaN)
        #expect(try sum(.nan, .infinity).isNaN)
        #expect(try sum(.greatestFiniteMagnitude, .greatestFiniteMagnitude) == .infinity)
        #expect(try sum(.greatestFiniteMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude).isFinite)
        #expect(
            try sum(0.1, 0.2, 0.3) == 0.6,
            "the sum is rounded once; rounding after each addition would give 0.6000000000000001")
    }

    private func add(_ number: Decimal, to sum: inout ExactSum) {
        var key: [UInt8] = []
        OrderKey.append(.decimal(number), to: &key)
        guard let decimal = OrderKey.decimal(in: key.span.bytes) else {
            Issue.record("\(number) isn't a decimal")
            return
        }
        let isAdded = sum.add(decimalDigits: decimal.digits, point: decimal.point, isNegative: decimal.isNegative)
        #expect(isAdded)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func decimalsAddUpExactly(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var expected = Decimal(0)
        let parts = (0..<6).map { _ in
            var sum = ExactSum(.decimal)
            for _ in 0..<30 {
                let digits = Int64.random(in: -999_999_999_999...999_999_999_999, using: &generator)
                let number = Decimal(string: "\(digits)e\(Int.random(in: -12...3, using: &generator))")!
                expected += number
                add(number, to: &sum)
            }
            return sum
        }
        let sum = try joined(.decimal, parts)
        #expect(sum.decimal == expected, "seed \(seed)")
        #expect(try bytes(joined(.decimal, parts.reversed())) == bytes(sum))
    }

    @Test func sumsOfExtremeDecimalsAreRoundedTo38Digits() {
        let least = Decimal(string: "1e-127")!, greatest = Decimal(string: "9e127")!
        var sum = ExactSum(.decimal)
        for number in [least, greatest, 7, -greatest, Decimal(string: "-2.5")!] { add(number, to: &sum) }
        // The sum of 4.5 and 1e-127 needs 128 digits, and is rounded to 38.
        #expect(sum.decimal == Decimal(string: "4.5"))
        add(Decimal(string: "-4.5")!, to: &sum)
        #expect(sum.decimal == least)
        add(-least, to: &sum)
        #expect(sum.decimal == 0)
        #expect(bytes(sum) == [0, 0, 0])
    }

    /// The sum of doubles is divided exactly, and only the quotient is rounded.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func averagesAreDividedExactlyAndRoundedOnce(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let count = Int.random(in: 2...40, using: &generator)
            var exact = Int128(0)
            var sum = ExactSum(.binary)
            for _ in 0..<count {
                let number = Int64.random(in: -(1 << 53)...(1 << 53), using: &generator)
                exact += Int128(number) << 40
                _ = sum.add(Double(number))
            }
            // The quotient is the average with 40 binary places; the places after them are cut off. A double needs
            // fewer places, because the averages are large, so both round to the same double.
            let expected = Double(exact / Int128(count)) / Double(1 << 40)
            let bytes = sum.bytes
            let found = EncodedSum(bytes.span.bytes, .binary).double(dividedBy: count)
            #expect(abs(found - expected) <= expected.ulp / 1024 || found == expected, "seed \(seed)")
            // The average of equal values is the value.
            let value = Double(bitPattern: UInt64.random(in: 0...(.max), using: &generator))
            guard value.isFinite else { continue }
            var same = ExactSum(.binary)
            for _ in 0..<count { _ = same.add(value) }
            let sameBytes = same.bytes
            #expect(EncodedSum(sameBytes.span.bytes, .binary).double(dividedBy: count) == value, "seed \(seed)")
        }
    }

    /// A sum is halfway between two doubles, or differs from the half by a bit far below. That bit decides the
    /// rounding.
    @Test func bitsFarBelowTheRoundingPositionDecideHowAHalfIsRounded() {
        func read(_ numbers: [Double], dividedBy divisor: Int) -> (sum: Double, quotient: Double) {
            var sum = ExactSum(.binary)
            for number in numbers { _ = sum.add(number) }
            let bytes = sum.bytes
            let encoded = EncodedSum(bytes.span.bytes, .binary)
            return (encoded.double, encoded.double(dividedBy: divisor))
        }
        func power(_ exponent: Int) -> Double { Double(sign: .plus, exponent: exponent, significand: 1) }
        for sign in [1.0, -1.0] {
            // 2^147 is half of the last bit of a double near 2^200.
            let half = read([sign * power(200), sign * power(147)], dividedBy: 2)
            #expect(half.sum == sign * power(200))
            #expect(half.quotient == sign * power(199))
            let above = read([sign * power(200), sign * power(147), sign * power(-900)], dividedBy: 2)
            #expect(above.sum == sign * (power(200) + power(148)))
            #expect(above.quotient == sign * (power(199) + power(147)))
            let below = read([sign * power(200), sign * power(147), -sign * power(-900)], dividedBy: 2)
            #expect(below.sum == sign * power(200))
            let many = read([sign * power(200), sign * power(147), sign * power(-900)], dividedBy: 1 << 40)
            #expect(many.quotient == sign * (power(160) + power(108)))
        }
    }

    /// Averages of multiples of the least double are rounded to the nearest multiple, a half to the even one.
    @Test func averagesOfTheLeastDoublesAreRoundedToEven() {
        for total in 0...40 {
            for count in 1...7 {
                var sum = ExactSum(.binary)
                _ = sum.add(Double(total) * .leastNonzeroMagnitude)
                let bytes = sum.bytes
                let expected = (Double(total) / Double(count)).rounded(.toNearestOrEven) * .leastNonzeroMagnitude
                #expect(
                    EncodedSum(bytes.span.bytes, .binary).double(dividedBy: count) == expected, "\(total) / \(count)")
            }
        }
    }

    @Test func averagesOfDecimalsAreRoundedTo38Digits() {
        func average(_ numbers: [String]) -> Decimal {
            var sum = ExactSum(.decimal)
            for number in numbers { add(Decimal(string: number)!, to: &sum) }
            let bytes = sum.bytes
            return EncodedSum(bytes.span.bytes, .decimal).decimal(dividedBy: numbers.count)
        }
        #expect(average(["1", "2"]) == Decimal(string: "1.5"))
        #expect(average(["1", "0", "0"]) == Decimal(string: "0.33333333333333333333333333333333333333"))
        #expect(average(["2", "0", "0"]) == Decimal(string: "0.66666666666666666666666666666666666667"))
        #expect(average(["-2", "0", "0"]) == Decimal(string: "-0.66666666666666666666666666666666666667"))
        for exponent in [-91, -100, -110, -120, -127, 100, 120] {
            let number = "1e\(exponent)"
            #expect(average([number, number]) == Decimal(string: number), "\(number)")
        }
        #expect(average(["1e-127", "0", "0", "0"]) == Decimal(string: "3e-128"))
        let greatest = "340282366920938463463374607431768211455"
        #expect(average([greatest, greatest]) == Decimal(string: greatest))
        var sum = ExactSum(.decimal)
        add(Decimal(string: greatest)!, to: &sum)
        add(-1, to: &sum)
        #expect(sum.decimal == Decimal(string: "340282366920938463463374607431768211454"))
    }
}
