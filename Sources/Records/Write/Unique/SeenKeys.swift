/// Hashes of unique keys, 64 bits each, in open-addressing tables: 11 to 22 bytes a key if there are many keys.
struct SeenKeys {
    /// The hashes are divided among 16 tables, so that only about a sixteenth of them is in memory twice while a table
    /// grows.
    private static let partBits = 4

    /// The tables, one for each value of a hash's first bits.
    private var parts = [Part](repeating: Part(), count: 1 << partBits)
    private(set) var count = 0
    /// The number of keys at which the set is full. The caller then writes the deferred keys, which bounds the memory
    /// of an import.
    private let most: Int

    init(most: Int) { self.most = most }

    var isFull: Bool { count >= most }

    /// Inserts a hash. Returns false if the hash is present, because the key, or another key with the same hash, was
    /// seen before. The probability that any two of 12 million keys have the same hash is about 1 in 250,000.
    mutating func insert(_ hash: UInt64) -> Bool {
        guard parts[Int(hash >> (64 - UInt64(Self.partBits)))].insert(hash) else { return false }
        count += 1
        return true
    }

    private struct Part {
        private var slots = [UInt64](repeating: 0, count: 1 << 12)
        private var count = 0

        mutating func insert(_ hash: UInt64) -> Bool {
            if 4 * count >= 3 * slots.count { grow() }
            // 0 is an empty slot.
            guard Self.insert(max(hash, 1), into: &slots) else { return false }
            count += 1
            return true
        }

        private static func insert(_ hash: UInt64, into slots: inout [UInt64]) -> Bool {
            let mask = slots.count - 1
            var index = Int(truncatingIfNeeded: hash) & mask
            while slots[index] != 0 {
                if slots[index] == hash { return false }
                index = (index + 1) & mask
            }
            slots[index] = hash
            return true
        }

        private mutating func grow() {
            var grown = [UInt64](repeating: 0, count: 2 * slots.count)
            for hash in slots where hash != 0 { _ = Self.insert(hash, into: &grown) }
            slots = grown
        }
    }
}
