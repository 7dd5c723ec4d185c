/// Object numbers that a file had, one bit each: 1.25 MB for ten million objects.
struct SeenObjects {
    private var words: [UInt64] = []

    mutating func insert(_ number: UInt64) {
        let word = Int(number >> 6)
        if word >= words.count { words += [UInt64](repeating: 0, count: max(word + 1 - words.count, words.count)) }
        words[word] |= 1 << (number & 63)
    }

    func contains(_ number: UInt64) -> Bool {
        let word = Int(number >> 6)
        return word < words.count && words[word] >> (number & 63) & 1 == 1
    }
}
