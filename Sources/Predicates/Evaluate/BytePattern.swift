internal import FetchIndexPlatform

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
            var budget = ComparisonBudget("CONTAINS", of: text)
            return try firstPlace(in: text, from: 0, &budget) != nil
        }
    }

    /// Where the bytes first stand in a text, from a place on; nil when they do not.
    func firstPlace(in text: UnsafeRawBufferPointer, from start: Int, _ budget: inout ComparisonBudget) throws -> Int? {
        try bytes.withUnsafeBytes { wanted in
            guard !wanted.isEmpty, let pattern = wanted.baseAddress else { return start }
            var left = text.count - start - wanted.count + 1
            guard left > 0, let base = text.baseAddress else { return nil }
            var place = base + start + rarest
            let rare = Int32(wanted[rarest])
            while left > 0, let found = memchr(place, rare, left) {
                let candidate = UnsafeRawPointer(found) - rarest
                try budget.spend(1 + wanted.count / 64)
                if memcmp(candidate, pattern, wanted.count) == 0 { return base.distance(to: candidate) }
                left -= place.distance(to: UnsafeRawPointer(found)) + 1
                place = UnsafeRawPointer(found) + 1
            }
            return nil
        }
    }
}

/// How much may be compared in one text, about a second: beyond it, a pattern goes back too often.
struct ComparisonBudget {
    /// Comparisons of 64 bytes.
    private static let most = 50_000_000

    private let comparator: StaticString
    private let textLength: Int
    private var left: Int

    init(_ comparator: StaticString, of text: UnsafeRawBufferPointer, _ most: Int = most) {
        self.comparator = comparator
        left = most
        textLength = text.count
    }

    /// Throws when there is nothing left.
    mutating func spend(_ comparisons: Int) throws {
        left -= comparisons
        if left < 0 {
            throw FetchPredicateError.patternTimeout(
                "\(comparator) takes too much time on a text of \(textLength) bytes")
        }
    }
}
