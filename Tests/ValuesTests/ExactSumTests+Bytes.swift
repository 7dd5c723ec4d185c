import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

/// The encoding of sums.
extension ExactSumTests {
    /// For a sum of one integer, the fast path returns that integer. It returns nil for multiples of 2^32, 0 included,
    /// and for magnitudes of 2^63 or more, which only the general path decodes. It also returns nil for truncated
    /// bytes.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func theFastPathDecodesSumsOfOneSmallInteger(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var numbers = [0, 1, 1 << 32, 1 << 53, 1 << 62, .max].flatMap { (number: Int64) in
            [number, -number, number - 1, 1 - number]
        }
        numbers.append(.min)
        for _ in 0..<500 {
            numbers.append(
                Int64.random(in: .min...(.max), using: &generator) >> Int64.random(in: 0..<64, using: &generator))
        }
        for number in numbers {
            var sum = ExactSum(.binary)
            sum.add(number)
            let sumBytes = bytes(sum)
            let isExpected = UInt32(truncatingIfNeeded: number) != 0 && number != .min
            for bytes in [sumBytes, sumBytes + [0, 7, 255, 3, 9]] {
                #expect(ExactSum.smallInteger(ofFirst: bytes.span.bytes) == (isExpected ? number : nil), "\(number)")
            }
            for end in sumBytes.indices {
                #expect(ExactSum.smallInteger(ofFirst: sumBytes.span.bytes.extracting(first: end)) == nil, "\(number)")
            }
        }
        var sum = ExactSum(.binary)
        for _ in 0..<2 { sum.add(Int64.max) }
        #expect(ExactSum.smallInteger(ofFirst: bytes(sum).span.bytes) == nil)
    }

    @Test func malformedBytesOfASumAreRefused() {
        var generator = SeededGenerator(seed: 3)
        for base in [ExactSum.Base.binary, .decimal] {
            for _ in 0..<5000 {
                var bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
                    UInt8.random(in: 0...(Bool.random(using: &generator) ? 9 : 255), using: &generator)
                }
                // Many of the random bytes have a valid length.
                if bytes.count > 3, Bool.random(using: &generator) { bytes[2] = UInt8(bytes.count / 4) }
                if base == .binary, bytes.count > 3, Bool.random(using: &generator) { bytes[1] = 34 }
                let length = ExactSum.length(ofFirst: bytes.span.bytes, base)
                #expect(
                    base == .decimal || length != nil || ExactSum.smallInteger(ofFirst: bytes.span.bytes) == nil,
                    "\(bytes)")
                var sum = ExactSum(base)
                guard length == bytes.count else {
                    let isAdded = sum.add(bytes.span.bytes)
                    #expect(!isAdded)
                    continue
                }
                let read = EncodedSum(bytes.span.bytes, base)
                if base == .binary { _ = (read.double, read.integer, read.double(dividedBy: 3)) }
                _ = (read.decimal, read.decimal(dividedBy: 7))
                let isAdded = sum.add(bytes.span.bytes)
                #expect(isAdded)
                #expect(sum.bytes.count == bytes.count)
            }
        }
    }
}
