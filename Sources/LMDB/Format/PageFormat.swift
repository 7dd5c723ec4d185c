internal import FetchIndexPlatform

/// What a data file's pages have in common: their layout, their length, and whether they end with a checksum.
///
/// LMDB 1.0 calls a function for the checksum of each branch, leaf and run of overflow pages that it writes
/// (mdb_env_set_checksum), and stores it in the last bytes of the page or run. The checksum's length is in the last two
/// bytes of page 0. LMDB itself compares the checksums only if it maps the file in small pieces (MDB_REMAP_CHUNKS), so
/// FetchIndex compares them where it reads pages itself.
struct PageFormat: Equatable, Sendable {
    /// The length in bytes of the checksums that FetchIndex lets LMDB write: XXH3-64.
    static let checksumLength = 8

    let layout: PageLayout
    let pageLength: Int
    /// Whether branches, leaves and runs of overflow pages end with a checksum. Meta pages never do.
    var hasChecksums = false

    private var tailLength: Int { hasChecksums ? Self.checksumLength : 0 }

    /// The number of overflow pages that a value needs.
    func overflowCount(of byteCount: Int) -> Int {
        (layout.headerLength + byteCount + tailLength - 1) / pageLength + 1
    }

    /// The maximum length of a leaf's node. If a node would be longer, its value is stored in overflow pages.
    var longestNode: Int { (pageLength - layout.headerLength - tailLength) / 2 / 2 * 2 - 2 }

    /// Whether the checksum at the end of a page, or of a run of overflow pages, is right. True if the file has none.
    /// O(bytes)
    func hasRightChecksum(_ bytes: RawSpan) -> Bool {
        guard hasChecksums else { return true }
        let end = bytes.byteCount - Self.checksumLength
        return end >= 0
            && bytes.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self) == bytes.extracting(first: end).hash
    }
}
