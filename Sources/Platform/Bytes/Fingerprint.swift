#if canImport(CommonCrypto)
    internal import CommonCrypto
#else
    internal import CFetchIndexDigest
#endif

/// The fingerprint of some byte sequences: the sum, modulo 2^128, of the first 16 bytes of their SHA-256 digests (FIPS
/// 180-4), read as numbers with the highest byte first. It depends neither on their order nor on how it was summed up.
///
/// Two different multisets have the same fingerprint with a probability of 2^-128 if nobody chose them for it. Such sums
/// don't resist an attacker who can choose the bytes (Wagner, A generalized birthday problem, 2002).
package struct Fingerprint: Hashable, Sendable {
    package static let zero = Fingerprint(0)
    /// The length of an encoded fingerprint.
    package static let byteCount = 16

    private var number: UInt128

    private init(_ number: UInt128) { self.number = number }

    /// The fingerprint of one byte sequence. O(its length).
    package init(of bytes: RawSpan) {
        number = bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(byteCount: 32, alignment: 16) { digest in
                #if canImport(CommonCrypto)
                    var context = CC_SHA256_CTX()
                    CC_SHA256_Init(&context)
                    // Lengths have 32 bits.
                    for start in stride(from: 0, to: bytes.count, by: 1 << 30) {
                        let part = bytes[start..<min(start + 1 << 30, bytes.count)]
                        CC_SHA256_Update(
                            &context, UnsafeRawBufferPointer(rebasing: part).baseAddress, CC_LONG(part.count))
                    }
                    CC_SHA256_Final(digest.bindMemory(to: UInt8.self).baseAddress, &context)
                #else
                    var context = SHA2_CTX()
                    SHA256Init(&context)
                    SHA256Update(&context, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
                    SHA256Final(digest.bindMemory(to: UInt8.self).baseAddress, &context)
                #endif
                return UInt128(bigEndian: digest.load(as: UInt128.self))
            }
        }
    }

    /// Decodes the fingerprint at an offset; nil if the bytes end before it does.
    package init?(_ bytes: RawSpan, at offset: Int = 0) {
        guard offset + Self.byteCount <= bytes.byteCount else { return nil }
        number = UInt128(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt128.self))
    }

    package mutating func add(_ other: Fingerprint) { number &+= other.number }

    package mutating func subtract(_ other: Fingerprint) { number &-= other.number }

    package func append(to bytes: inout [UInt8]) { bytes.appendNumber(number) }
}

extension Fingerprint: CustomStringConvertible {
    /// 32 hexadecimal digits.
    package var description: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
