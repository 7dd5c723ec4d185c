internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The part of a followed source's description that is shown to users. The module that follows the source stores the
/// description as JSON, with further properties that a restart needs.
struct SourceFacts: Decodable, SourceDescription {
    /// The attribute that contains the source's name.
    struct Shard: Decodable { let attribute: String }

    struct Table {
        let schema: String
        let name: String
        let entity: String
        /// The title of the columns whose values together identify rows.
        let key: String
        let shard: Shard?
        let condition: String?
        let isCopied: Bool
        /// Why rows are left out, because they have values that cannot be stored.
        let omittedRows: [String]
    }

    /// The way in which changes are received: `stream` for a replication slot, `changeTable` for a change table.
    let way: String
    let address: String
    let slot: String
    let tables: [Table]
    let consistentFrom: String?

    var isCopied: Bool { tables.allSatisfy(\.isCopied) }
}

extension SourceFacts.Table: Decodable {
    private struct OmittedRow: Decodable { let reason: String }

    private enum CodingKeys: String, CodingKey {
        case schema
        case name
        case entity
        case shard
        case condition
        case isCopied
        case omittedRows
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        schema = try members.decode(String.self, forKey: .schema)
        name = try members.decode(String.self, forKey: .name)
        entity = try members.decode(String.self, forKey: .entity)
        key = try SourceKey(from: decoder).title
        shard = try members.decodeIfPresent(SourceFacts.Shard.self, forKey: .shard)
        condition = try members.decodeIfPresent(String.self, forKey: .condition)
        isCopied = try members.decode(Bool.self, forKey: .isCopied)
        let omitted = try members.decodeIfPresent([String: OmittedRow].self, forKey: .omittedRows) ?? [:]
        omittedRows = omitted.values.map(\.reason).sorted()
    }
}

extension StoreReader {
    /// The names of the followed sources, in alphabetical order.
    func sourceNames() throws -> [String] {
        try parts(of: .source).map { $0.isEmpty ? SourceName.main : $0 }.sorted()
    }

    /// Reads the description of a followed source, or a part of it; nil if the store doesn't follow the source. Throws
    /// `corrupted`.
    func followedSource<Source: Decodable>(named name: String, as type: Source.Type) throws -> Source? {
        guard let bytes = try attachment(.source, of: SourceName.part(name)) else { return nil }
        var reader = ByteReader(bytes.span.bytes, "the description of the source")
        let text = try reader.text()
        do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch {
            throw StoreError.corrupted("the description of the source cannot be read")
        }
    }
}
