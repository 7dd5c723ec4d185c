internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB
internal import FetchIndexValues

/// Reads and writes "identifier" in the meta table, a store's UUID.
enum StoreIdentifier {
    static func encoded(_ identifier: UUID) -> [UInt8] {
        var bytes = withUnsafeBytes(of: identifier.uuid) { [UInt8]($0) }
        bytes.appendChecksum()
        return bytes
    }

    static func read(in view: TransactionView, _ tables: StoreTables) throws -> UUID? {
        try read(in: view, tables.meta)
    }

    /// The store's identifier; nil if it's missing, as in a store that was created before stores had identifiers.
    static func read(in view: TransactionView, _ meta: Table) throws -> UUID? {
        var identifier: UUID?
        _ = try view.get(StoreLayout.identifierKey, in: meta) { value in
            var reader = try ByteReader(checked: value, "the store's identifier")
            identifier = UUID(copying: value.extracting(try reader.range(16)))
        }
        return identifier
    }

    /// The store's identifier (nil if it's missing or damaged), and the stores that this one is a copy of (empty if
    /// their list is damaged).
    static func readUnlessDamaged(
        in view: TransactionView, _ tables: StoreTables
    ) throws -> (identifier: UUID?, originals: [NumbersOrigin]) {
        let identifier = try readUnlessDamaged(in: view, tables.meta)
        var originals: [NumbersOrigin] = []
        do { originals = try NumbersOrigin.originals(in: view, tables.meta) } catch StoreError.corrupted {}
        return (identifier, originals)
    }

    static func readUnlessDamaged(in view: TransactionView, _ meta: Table) throws -> UUID? {
        do { return try read(in: view, meta) } catch StoreError.corrupted { return nil }
    }

    /// Creates an identifier if it's missing. A damaged one stays.
    static func makeIfMissing(in view: TransactionView, _ tables: StoreTables) throws {
        if try view.get(StoreLayout.identifierKey, in: tables.meta, { _ in }) { return }
        try make(in: view, tables)
    }

    /// Replaces a damaged identifier with a new one. Returns false if it is intact or missing.
    static func repair(in view: TransactionView, _ tables: StoreTables) throws -> Bool {
        do { _ = try read(in: view, tables) } catch StoreError.corrupted {
            try make(in: view, tables)
            return true
        }
        return false
    }

    private static func make(in view: TransactionView, _ tables: StoreTables) throws {
        try view.put(encoded(UUID()), for: StoreLayout.identifierKey, in: tables.meta)
    }
}
