package import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexRecords

// The description of the graph, in the store.
extension ObjectGraphWriter {
    /// Notes the store that gave the objects their numbers, after all rows were written. Throws `StoreError`.
    package func noteNumbers(of store: UUID, _ tables: [GraphTable]) throws {
        try withPublicErrors { for table in tables { try writer.noteNumbers(of: store, table.entityNumber) } }
    }

    /// Stores a description of the graph, in the transaction. Throws `StoreError`.
    package func setSource(_ source: some Encodable) throws {
        try withPublicErrors {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let bytes = Array(try encoder.encode(source))
            if try writer.attachment(.graph) != bytes { try writer.setAttachment(.graph, to: bytes) }
        }
    }

    /// Reads the description of the graph whose copy the store's objects are; nil if they aren't a copy. Throws
    /// `StoreError`.
    package func source<Source: Decodable>(as type: Source.Type) throws -> Source? {
        try withPublicErrors {
            try writer.attachment(.graph).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
        }
    }

    /// The number of an entity's objects; 0 if the store lacks the entity. Throws `StoreError`.
    package func count(ofEntity name: String) throws -> Int {
        try withPublicErrors {
            guard writer.model.entity(named: name) != nil else { return 0 }
            return Int(clamping: try writer.entityState(writer.model.number(of: name)).count)
        }
    }
}
