internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The description of a followed source, as far as it is shown to users. The module that follows the source stores it
/// as JSON, with further properties that it needs for a restart.
struct SourceFacts: Decodable {
    struct Table: Decodable {
        let schema: String
        let name: String
        let entity: String
        /// The column whose values identify rows.
        let key: String
        let condition: String?
        let isCopied: Bool
    }

    /// How changes are received: `stream` for a replication slot, `changeTable` for a change table.
    let way: String
    let address: String
    let slot: String
    let tables: [Table]
    /// The position from which on the store's tables are consistent with each other; nil once the store has reached it.
    let consistentFrom: String?

    var isConsistent: Bool { consistentFrom == nil && tables.allSatisfy(\.isCopied) }
}

extension StoreReader {
    /// Reads the description of the followed source; nil if the store doesn't follow one. Throws `corrupted`.
    func sourceFacts() throws -> SourceFacts? { try followedSource(as: SourceFacts.self) }

    /// Reads the description of the followed source, or a part of it; nil if the store doesn't follow one. Throws
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
