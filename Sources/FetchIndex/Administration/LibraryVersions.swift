internal import FetchIndexRecords
internal import FetchIndexValues

/// The versions of this library, of the store format, and of the libraries that stores depend on.
public struct LibraryVersions: Encodable, Sendable {
    /// The version of FetchIndex, such as "0.9.0".
    public let fetchIndex: String
    /// The version of the store format that this library writes. It reads older ones too.
    public let format: Int
    /// The version of LMDB that this process uses, such as "0.9.24".
    public let lmdb: String
    /// The version of ICU, such as "72.1". The order of localized texts depends on it.
    public let icu: String

    /// The versions that this process uses.
    public static var current: LibraryVersions {
        LibraryVersions(
            fetchIndex: "0.9.0", format: Int(StoreLayout.version), lmdb: Store.lmdbVersion,
            icu: String(TextFolding.version.dropFirst("ICU ".count)))
    }
}

extension LibraryVersions: CustomStringConvertible {
    /// A line for each version: "fetchindex 0.9.0", "store format 15", "LMDB 0.9.24", "ICU 72.1".
    public var description: String { "fetchindex \(fetchIndex)\nstore format \(format)\nLMDB \(lmdb)\nICU \(icu)" }
}
