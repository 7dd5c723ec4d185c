import Testing

@testable import FetchIndexPlatform

/// Numbers of variable length, whole and truncated.
@Suite struct ByteReaderTests {
    private struct Damage: Error {}

    /// The numbers in some bytes, and whether a number could not be read.
    private func varints(_ bytes: [UInt8]) -> (numbers: [UInt64], isDamaged: Bool) {
        let span = bytes.span.bytes
        var reader = ByteReader(span, subject: { "bytes" }, damage: { _ in Damage() })
        var numbers: [UInt64] = []
        while !reader.isAtEnd {
            do { numbers.append(try reader.varint()) } catch { return (numbers, true) }
        }
        return (numbers, false)
    }

    @Test func numbersReadBackAsTheyWereWritten() {
        var edges = [UInt64.max]
        for bit in 0..<64 {
            let power: UInt64 = 1 << bit
            edges += [power - 1, power, power + 1]
        }
        for number in edges {
            for next in [0, 200, UInt64.max] {
                var bytes: [UInt8] = []
                for number in [number, next, number] { bytes.appendVarint(number) }
                let (numbers, isDamaged) = varints(bytes)
                #expect(numbers == [number, next, number])
                #expect(!isDamaged)
            }
        }
    }

    @Test func aTruncatedNumberThrows() {
        for number in [1 << 7, 1 << 14, 1 << 21, .max] as [UInt64] {
            var bytes: [UInt8] = [5]
            bytes.appendVarint(number)
            for count in 2..<bytes.count {
                let (numbers, isDamaged) = varints(Array(bytes[..<count]))
                #expect(numbers == [5])
                #expect(isDamaged, "\(number) after \(count) bytes")
            }
        }
    }

    @Test func aNumberMayEndWithAZeroByte() {
        #expect(varints([0x80, 0]).numbers == [0])
        #expect(varints([0x85, 0x80, 0, 3]).numbers == [5, 3])
    }

    @Test func aNumberOfElevenBytesThrows() {
        #expect(varints([UInt8](repeating: 0x80, count: 10) + [1]).isDamaged)
    }
}
