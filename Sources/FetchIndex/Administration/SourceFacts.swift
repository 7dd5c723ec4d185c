internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// What people are told of the source that a store follows. The module that follows it writes them, among what else it needs to go
/// on after a restart: JSON as a text.
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

    /// How changes are heard of: `stream`, or another word.
    let way: String
    let address: String
    let slot: String
    let tables: [Table]
    /// Until the store has followed up to there, it may have rows of different times.
    let consistentFrom: String?

    var isConsistent: Bool { consistentFrom == nil && tables.allSatisfy(\.isCopied) }
}

extension StoreReader {
    /// Reads what a store follows; nil if it follows no source. Throws `corrupted`.
    func sourceFacts() throws -> SourceFacts? { try followedSource(as: SourceFacts.self) }

    /// What the store follows, or a part of it. Nil in a store that follows no source. Throws `corrupted`.
    func followedSource<Source: Decodable>(as type: Source.Type) throws -> Source? {
        guard let bytes = try attachment(.source) else { return nil }
        var reader = ByteReader(bytes.span.bytes, "the description of the source")
        let text = try reader.text()
        do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch {
            throw StoreError.corrupted("the description of the source cannot be read")
        }
    }
}
