internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The facts of a followed source that are shown to people. They are a part of the JSON text that the module which
/// follows the source stores for its restart.
struct SourceFacts: Decodable {
    struct Table: Decodable {
        let schema: String
        let name: String
        let entity: String
        /// The column whose values name rows.
        let key: String
        let condition: String?
        let isCopied: Bool
    }

    /// The way in which changes arrive: `stream` for a replication slot, `changeTable` for a change table.
    let way: String
    let address: String
    let slot: String
    let tables: [Table]
    /// The position that the store must reach before its rows are of one time; nil once it has reached it.
    let consistentFrom: String?

    var isConsistent: Bool { consistentFrom == nil && tables.allSatisfy(\.isCopied) }
}

extension StoreReader {
    /// Reads what a store follows; nil if it follows no source. Throws `corrupted`.
    func sourceFacts() throws -> SourceFacts? { try followedSource(as: SourceFacts.self) }

    /// Reads the description of the followed source, or a part of it; nil if the store follows no source. Throws
    /// `corrupted`.
    func followedSource<Source: Decodable>(as type: Source.Type) throws -> Source? {
        guard let bytes = try attachment(.source) else { return nil }
        var reader = ByteReader(bytes.span.bytes, "the description of the source")
        let text = try reader.text()
        do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch {
            throw StoreError.corrupted("the description of the source cannot be read")
        }
    }
}
