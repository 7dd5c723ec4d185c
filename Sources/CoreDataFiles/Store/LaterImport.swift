internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels

/// The store of Core Data whose copy a store's objects are.
struct ImportedStore: Codable {
    let identifier: UUID?
    /// Whether all objects have arrived. If the first import was interrupted, another one completes it.
    var isWhole: Bool
    /// The entities whose objects were imported.
    var entities: [String]
    /// What a later import needs to read or write less; nil if it must read and write all.
    var read: Read?

    /// The state of the store whose objects were read, and the commit in which they were written.
    struct Read: Codable {
        /// The newest transaction of the history. Nil without a history, or if objects differ from their rows, which is told
        /// at each import.
        let point: StoreHistory.Point?
        /// The contents of the store's files; see `StoreCopy`.
        let contents: Int64
        let settings: Settings
        /// The sums of the objects' version numbers, by entity.
        let versions: [String: Int64]
        /// The commit in which the objects were written, and the version of the container's model then.
        var commit: UInt64
        var modelVersion: UInt32
    }

    /// What determines the values of objects besides their rows.
    struct Settings: Codable, Equatable {
        /// Raised when values are converted otherwise than before.
        var format = 2
        let model: Int
        let entities: [String]?
        let without: [String]
        let decodesArchives: Bool

        init(_ model: Int, _ options: CoreDataImportOptions) {
            self.model = model
            (entities, without) = (options.entities?.sorted(), options.without.sorted())
            decodesArchives = options.decodesArchives
        }
    }
}

/// An import that reads only the objects that the store's history, or the log of the container, says are changed.
struct LaterImport {
    private let graph: ObjectGraphReader
    private let identifier: UUID?
    private let known: ImportedStore.Read
    /// The container's newest commit.
    var commit: UInt64 { graph.commit }

    /// Returns nil if all objects must be read. Throws `StoreError`.
    init?(into container: PersistentContainer, _ options: CoreDataImportOptions) throws {
        graph = try ObjectGraphReader(container)
        guard !options.hasSameIdentity, !options.salvages, !options.readsAll,
            let imported = try graph.source(as: ImportedStore.self), imported.isWhole, let known = imported.read,
            known.point != nil
        else { return nil }
        (identifier, self.known) = (imported.identifier, known)
    }

    /// The keys of the objects that must be read, in ascending order, by the places of the reader's schema; all objects of
    /// a place without keys. Nil if all objects must be read. Throws `CoreDataFileError` and `StoreError`. O(n).
    func keys(
        of reader: ObjectReader, _ history: StoreHistory, _ settings: ImportedStore.Settings, _ identifier: UUID?
    ) throws -> [Int: [Int64]]? {
        guard identifier == self.identifier, settings == known.settings, graph.modelVersion == known.modelVersion,
            let point = known.point, let changes = try history.changes(since: point), try reader.hasLargeValues(),
            let changed = tables(of: changes, reader)
        else { return nil }
        var keys: [Int: Set<UInt64>] = [:]
        let places = Dictionary(reader.schema.places.enumerated().map { ($1.entity, $0) }) { first, _ in first }
        for (place, stored) in reader.schema.places.enumerated() {
            for key in changed[stored.table] ?? [] where key > 0 { keys[place, default: []].insert(UInt64(key)) }
            // An app may have written without a history.
            if changed[stored.table] == nil && reader.versionsByEntity[stored.entity] != known.versions[stored.entity] {
                return nil
            }
            guard let here = try graph.changed(ofEntity: stored.entity, since: known.commit) else { return nil }
            keys[place, default: []].formUnion(here)
            var isHere = SeenObjects()
            for number in try graph.numbers(ofEntity: stored.entity) {
                isHere.insert(number)
                if reader.numbers[place].contains(number) { continue }
                // The object will be deleted, and the app may have left links to it.
                for holder in try graph.holders(ofEntity: stored.entity, number) {
                    if let place = places[holder.entity] { keys[place, default: []].insert(holder.number) }
                }
            }
            reader.numbers[place].forEach { if !isHere.contains($0) { keys[place, default: []].insert($0) } }
        }
        var found: [Int: [Int64]] = [:]
        for (place, stored) in reader.schema.places.enumerated() {
            // A new order of objects, or a change of the owner alone, may change rows that the history doesn't name.
            if stored.references.values.contains(where: { $0.order != nil || $0.isHidden }) { continue }
            let numbers = (keys[place] ?? []).filter { reader.numbers[place].contains($0) }
            found[place] = numbers.map { Int64(clamping: $0) }.sorted()
        }
        return found
    }

    /// The changed keys by the tables of their objects. Nil if an entity is unknown.
    private func tables(of changes: [Int64: Set<Int64>], _ reader: ObjectReader) -> [String: Set<Int64>]? {
        let tables = Dictionary(reader.schema.places.map { ($0.number, $0.table) }) { first, _ in first }
        var found: [String: Set<Int64>] = [:]
        for (entity, keys) in changes {
            if let table = tables[entity] {
                found[table, default: []].formUnion(keys)
            } else if reader.schema.tables.entities[entity] == nil {
                return nil
            }
        }
        return found
    }
}

extension CoreDataStore {
    /// The commit in which a container got this store's objects, if the store is the copy that was imported last, and
    /// nobody has changed the container since. Throws `StoreError`.
    func unchangedCommit(in container: PersistentContainer) throws -> UInt64? {
        if options.hasSameIdentity || options.readsAll || options.salvages { return nil }
        let graph = try ObjectGraphReader(container)
        guard let imported = try graph.source(as: ImportedStore.self), imported.isWhole, let known = imported.read,
            let read
        else { return nil }
        let isSame =
            imported.identifier == identifier && known.contents == read.contents && known.settings == read.settings
            && known.commit == graph.commit && known.modelVersion == graph.modelVersion
        return isSame ? known.commit : nil
    }
}
