internal import CFetchIndexLMDB

/// The layout of an LMDB file's pages, by the file's data version. LMDB 0.9 reads and writes version 1 only, LMDB 1.0
/// version 3 only.
package enum PageLayout: UInt32, Sendable, CaseIterable {
    case version1 = 1
    case version3 = 3

    /// The layout of the LMDB that this program was built with.
    @inline(__always)
    package static var linked: PageLayout { fi_data_version() == 1 ? .version1 : .version3 }

    /// The releases of LMDB that use the layout.
    package var releases: String { self == .version1 ? "LMDB 0.9" : "LMDB 1.0" }

    /// The length of a page's header in bytes. Version 3 has the number of the transaction that wrote the page.
    @inline(__always)
    var headerLength: Int { self == .version1 ? 16 : 24 }

    /// The maximum length of a page in bytes.
    var longestPage: Int { self == .version1 ? 32768 : 65536 }

    /// The offset in a page from which the bounds of its free room and the places of its nodes are counted.
    @inline(__always)
    var base: Int { self == .version1 ? 0 : headerLength }

    /// The number of bytes that a key takes in a leaf: version 3 pads it to an even number.
    @inline(__always)
    func storedKeyLength(_ byteCount: Int) -> Int { self == .version1 ? byteCount : (byteCount + 1) & ~1 }

    /// The length of the reference to overflow pages that a leaf has instead of a long value.
    @inline(__always)
    var overflowReferenceLength: Int { self == .version1 ? 8 : 24 }

    /// The bytes of a named table's key in the main tree. Version 3 has a zero after the name.
    func key(ofTable name: String) -> [UInt8] { Array(name.utf8) + (self == .version1 ? [] : [0]) }

    /// The name of the table with a key of the main tree.
    func tableName(_ key: [UInt8]) -> String {
        String(decoding: self == .version3 && key.last == 0 ? key.dropLast() : key[...], as: UTF8.self)
    }
}

/// The LMDB that runs in this process.
package enum LinkedLMDB {
    /// The version as "major.minor.patch". mdb_version
    package static var version: String { numbers.map(String.init).joined(separator: ".") }

    private static var numbers: [CInt] {
        var (major, minor, patch): (CInt, CInt, CInt) = (0, 0, 0)
        mdb_version(&major, &minor, &patch)
        return [major, minor, patch]
    }

    /// Throws unless the library is of the major version that this program was built for, and so has its page layout.
    static func requireLayout() throws {
        guard numbers[0] == MDB_VERSION_MAJOR else {
            throw DataFileError.otherLibrary(
                "this program was built for LMDB \(MDB_VERSION_MAJOR).\(MDB_VERSION_MINOR), but runs with LMDB \(version)"
            )
        }
    }
}
