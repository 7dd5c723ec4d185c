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
        let rarities = Self.rarities
        rarest = bytes.indices.max { rarities[Int(bytes[$0])] < rarities[Int(bytes[$1])] } ?? 0
    }

    /// ASCII characters that are common in names, paths and texts, the most common first.
    private static let common = Array(" e/atoinsrl.-pcdmu_hgbfvykw0123xj456789ETAONISRLCDMPUz".utf8)

    /// By byte, greater for rarer ones. In texts beyond ASCII, few different bytes begin all characters of a script. In each kana,
    /// one of 80 to 83 is the second byte.
    private static let rarities: [UInt8] = {
        var rarities = [UInt8](repeating: UInt8(common.count), count: 256)
        for (rarity, byte) in common.enumerated() { rarities[Int(byte)] = UInt8(rarity) }
        for byte in 0xC2...0xFF { rarities[byte] = 0 }
        for byte in 0x80...0x83 { rarities[byte] = 1 }
        return rarities
    }()

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
