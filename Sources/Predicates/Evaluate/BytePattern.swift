internal import Bytes
internal import SystemBasics

/// Bytes to look for in many texts. They are looked for by their rarest byte, which `memchr` finds, and compared where it stands: few
/// texts have it that do not have all of them.
struct BytePattern: Sendable {
    let bytes: [UInt8]
    /// Where the rarest byte is.
    private let rarest: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        rarest = bytes.indices.max { Self.rarity(of: bytes[$0]) < Self.rarity(of: bytes[$1]) } ?? 0
    }

    /// ASCII characters that are common in names, paths and texts, the most common first.
    private static let common = Array("e/atoinsrl.-pcdmu_hgbfvykw0123xj456789 ETAONISRLCDMPUz".utf8)

    /// Greater for rarer bytes. Texts beyond ASCII have few different bytes that begin a character, and many that follow one.
    private static func rarity(of byte: UInt8) -> Int {
        switch byte {
        case 0xC2...: 0
        case 0x80...0x83: 1
        default: common.firstIndex(of: byte) ?? common.count
        }
    }

    /// Whether the bytes stand somewhere in a text; true when there are none. Throws when that takes too long to find out.
    /// O(length of the text) unless it repeats the rarest byte.
    func isContained(in text: RawSpan) throws -> Bool {
        try text.withUnsafeBytes { text in
            try bytes.withUnsafeBytes { wanted in
                guard !wanted.isEmpty, let pattern = wanted.baseAddress else { return true }
                var left = text.count - wanted.count + 1
                guard left > 0, var place = text.baseAddress.map({ $0 + rarest }) else { return false }
                let rare = Int32(wanted[rarest])
                var comparisons = 0
                while left > 0, let found = memchr(place, rare, left) {
                    let start = UnsafeRawPointer(found) - rarest
                    if memcmp(start, pattern, wanted.count) == 0 { return true }
                    comparisons += 1 + wanted.count / 64
                    if comparisons > LikePattern.maximumComparisons {
                        throw LikePattern.tooMuch("CONTAINS", textLength: text.count)
                    }
                    left -= place.distance(to: UnsafeRawPointer(found)) + 1
                    place = UnsafeRawPointer(found) + 1
                }
                return false
            }
        }
    }
}
