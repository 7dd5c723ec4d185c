internal import FetchIndexCLibrary

/// A byte string to search for in many texts. `memchr` finds the occurrences of its rarest byte, and the whole string
/// is compared only there.
struct BytePattern: Sendable {
    let bytes: [UInt8]
    /// The index of the string's rarest byte.
    private let rarest: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let rarities = Self.rarities
        rarest = bytes.indices.max { rarities[Int(bytes[$0])] < rarities[Int(bytes[$1])] } ?? 0
    }

    /// ASCII characters that are common in names, paths and prose, the most common first.
    private static let common = Array(" e/atoinsrl.-pcdmu_hgbfvykw0123xj456789ETAONISRLCDMPUz".utf8)

    /// The rarity of each byte value: a rarer byte has a greater number. Outside of ASCII, a script's characters begin
    /// with few different bytes, so these are common; the second byte of kana and of the punctuation from U+3000 to
    /// U+303F is one of 0x80 to 0x83.
    private static let rarities: [UInt8] = {
        var rarities = [UInt8](repeating: UInt8(common.count), count: 256)
        for (rarity, byte) in common.enumerated() { rarities[Int(byte)] = UInt8(rarity) }
        for byte in 0xC2...0xFF { rarities[byte] = 0 }
        for byte in 0x80...0x83 { rarities[byte] = 1 }
        return rarities
    }()

    /// Whether a text contains the byte string; true for an empty byte string. O(length of the text) if the byte
    /// string's rarest byte is rare in the text, too. Throws if the search exceeds its budget of comparisons.
    func isContained(in text: RawSpan) throws -> Bool {
        try text.withUnsafeBytes { text in
            var budget = ComparisonBudget("CONTAINS", of: text)
            return try firstPlace(in: text, from: 0, &budget) != nil
        }
    }

    /// The offset of the byte string's first occurrence at or after `start`; nil if it doesn't occur.
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

/// The number of comparisons that a search may make on one text. A search that needs more throws.
struct ComparisonBudget {
    /// The default budget, in comparisons of at most 64 bytes.
    private static let most = 50_000_000

    private let comparator: StaticString
    private let textLength: Int
    private var left: Int

    init(_ comparator: StaticString, of text: UnsafeRawBufferPointer, _ most: Int = most) {
        self.comparator = comparator
        left = most
        textLength = text.count
    }

    /// Takes comparisons from the budget. Throws if they exceed it.
    mutating func spend(_ comparisons: Int) throws {
        left -= comparisons
        if left < 0 {
            throw FetchPredicateError.patternTimeout(
                "\(comparator) takes too much time on a text of \(textLength) bytes")
        }
    }
}
