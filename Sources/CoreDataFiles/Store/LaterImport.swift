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
        /// The newest transaction of the history. Nil if there is none, or if objects differ from their rows, which is told
        /// at each import.
        let point: StoreHistory.Point?
        /// The contents of the store's files; see `StoreCopy`.
        let contents: Int64
        let settings: Settings
        /// The sums of the objects' version numbers, by entity.
        let versions: [String: Int64]
        /// The commit in which the objects were written.
        var commit: UInt64
    }

    /// What determines the values of objects besides their rows.
    struct Settings: Codable, Equatable {
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
        guard identifier == self.identifier, settings == known.settings,
            let point = known.point, let changes = try history.changes(since: point),
            // An app may have written without a history.
            history.newest != point || reader.versionsByEntity == known.versions
        else { return nil }
        var keys: [Int: Set<UInt64>] = [:]
        let places = Dictionary(reader.schema.places.enumerated().map { ($1.entity, $0) }) { first, _ in first }
        for (place, stored) in reader.schema.places.enumerated() {
            for key in changes[stored.number] ?? [] where key > 0 { keys[place, default: []].insert(UInt64(key)) }
            guard let changed = try graph.changed(ofEntity: stored.entity, since: known.commit) else { return nil }
            keys[place, default: []].formUnion(changed)
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
            // A new order of objects may change rows that the history doesn't name.
            if stored.references.values.contains(where: { $0.order != nil }) { continue }
            let numbers = (keys[place] ?? []).filter { reader.numbers[place].contains($0) }
            found[place] = numbers.map { Int64(clamping: $0) }.sorted()
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
            && known.commit == graph.commit
        return isSame ? known.commit : nil
    }
}
