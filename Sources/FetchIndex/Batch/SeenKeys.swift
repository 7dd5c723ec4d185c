/// Hashes of unique keys, 64 bits each, in open-addressing tables: 11 to 22 bytes a key.
struct SeenKeys {
    /// The keys are divided among several tables, because a growing table exists twice for a while.
    private static let partBits = 4

    /// The tables, each for hashes with the same first bits.
    private var parts = [Part](repeating: Part(), count: 1 << partBits)
    private(set) var count = 0
    /// The maximum number of keys, which bounds the memory that an import takes.
    private let most: Int

    init(most: Int) { self.most = most }

    var isFull: Bool { count >= most }

    /// Inserts a hash. Returns false if it is present: the key was seen, or another key has the same hash. The
    /// probability that 12 million keys have two with the same hash is 1 in 250,000.
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
