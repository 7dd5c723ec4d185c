import FetchIndexPlatform
import Testing

@testable import FetchIndexCountedTree

/// Common prefixes of byte strings whose first difference is known.
@Suite struct PrefixTests {
    /// All lengths up to 40, with the first difference at each byte in turn, and without a difference.
    @Test func aCommonPrefixEndsAtTheFirstDifference() {
        for length in 0...40 {
            let left = (0..<length).map { UInt8($0 + 1) }
            for difference in 0...length {
                for rest in 0...3 {
                    // Bytes after the first difference are different too, or equal.
                    var right = left + [UInt8](repeating: 200, count: rest)
                    if difference < length { right[difference] ^= 0x80 }
                    for offset in (difference..<length).dropFirst() where offset % (rest + 1) == 0 {
                        right[offset] ^= 1
                    }
                    #expect(left.span.bytes.commonPrefixLength(right.span.bytes) == difference)
                    #expect(right.span.bytes.commonPrefixLength(left.span.bytes) == difference)
                }
            }
        }
    }

    /// The bytes of the padding don't change the result of a comparison, and a copy doesn't write beyond the padding.
    @Test func comparisonsIgnorePaddingAndCopiesDoNotWriteBeyondIt() {
        for length in 0...70 {
            let source = (0..<length + PaddedBytes.padding).map { UInt8($0 + 1) }
            for difference in 0...length {
                for padding in [0, 0x80] as [UInt8] {
                    var other = source.enumerated().map { $0.offset < length ? $0.element : $0.element ^ padding }
                    if difference < length { other[difference] ^= 0x80 }
                    for offset in (difference..<length).dropFirst() where offset % 3 == 0 { other[offset] ^= 1 }
                    let common = source.withUnsafeBytes { left in
                        other.withUnsafeBytes { right in
                            PaddedBytes.commonPrefixLength(left.baseAddress!, right.baseAddress!, upTo: length)
                        }
                    }
                    #expect(common == difference)
                }
            }
            var target = [UInt8](repeating: 255, count: length + PaddedBytes.padding + 1)
            target.withUnsafeMutableBytes { target in
                source.withUnsafeBytes { PaddedBytes.copy(length, from: $0.baseAddress!, to: target.baseAddress!) }
            }
            #expect(target.prefix(length) == source.prefix(length) && target.last == 255)
        }
    }
}
