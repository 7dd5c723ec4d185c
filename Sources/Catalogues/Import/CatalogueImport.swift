package import FetchIndex
internal import FetchIndexModels

/// Imports a catalogue file, or several with the same columns, into an entity:
///
/// - opens the file and reads its columns
/// - decides how the model must change so that the rows fit their entity: `EntityPreparation`
/// - reads, converts and writes the rows: `RowImport`
///
/// The model changes first, in a transaction of its own. If all rows are one transaction, it's part of that.
package struct CatalogueImport {
    /// The result of an import.
    package struct Outcome {
        package var counts = BatchWriter.Counts()
        /// The number of objects that were deleted because the file lacks them; nil if such objects stay.
        package var deletedCount: Int?
        /// The number of missing related objects that were inserted; nil if missing objects are refused, or if the file
        /// is empty.
        package var insertedRelatedCount: Int?
        package var bad = BadRows()
        /// Whether the model got an entity, attributes or relationships.
        package var changedModel = false
        /// The store's newest commit.
        package var commit: UInt64 = 0

        /// Whether neither an object, a related object nor the model has changed.
        package var isUnchanged: Bool { counts.changed + (insertedRelatedCount ?? 0) == 0 && !changedModel }
    }

    /// Makes the closure that gets a preview of the import before its commit, and may refuse it by an error; nil if
    /// nobody wants a preview.
    package typealias Review = (PersistentContainer) throws -> ((BatchPreview) throws -> Void)?

    private let request: ImportRequest

    package init(_ request: ImportRequest) { self.request = request }

    /// Imports the file. `progress` gets the number of rows read so far, and the fraction of the file's bytes read so
    /// far, which is 0 for a pipe. An import with a review is one transaction. Throws `UnreadableFile`, `BadInput`,
    /// `ImportError`, `ImportStopped`, `ModelError`, `StoreError`, `RequestError`, and the errors of the review.
    package func run(
        review: Review = { _ in nil }, progress: (_ rows: Int, _ fraction: Double) -> Void
    ) throws -> Outcome {
        let file: CatalogueFile
        do { file = try openFile() } catch let error as UnreadableFile where error.isEmpty && !request.replaces {
            return try importNothing(error)
        }
        let primaryKey = (file.source as? SQLiteTable)?.primaryKey
        if request.replaces && request.key == nil && primaryKey == nil { throw ImportError.noKey }
        let container = try open()
        let keyed = try keyed(request, by: primaryKey, in: container)
        let review = try review(container)
        let model = try container.model()
        let fitting = try EntityPreparation(keyed, container, file).fittingModel()
        file.endSampling()
        var outcome = try RowImport(keyed, file.source, container, fitting, review).run(progress: progress)
        outcome.changedModel = fitting != model
        outcome.commit = try container.newestCommit()
        return outcome
    }

    /// Opens the file, which must have the columns that the request names. Throws `UnreadableFile` and `ModelError`.
    func openFile() throws -> CatalogueFile {
        let inputs = try request.files.map { path in
            var input = try request.isDatabase ? CatalogueInput(path) : CatalogueInput.opening(path)
            (input.delimiter, input.listPath) = (request.delimiter, request.listPath)
            return input
        }
        let file = try CatalogueFile(request, inputs, toldColumns())
        try request.requireNames(in: file.source.columns)
        return file
    }

    /// Opens the store. A dry run creates none: it imports into a temporary store instead.
    private func open() throws -> PersistentContainer {
        do {
            return try PersistentContainer(
                storeAt: request.store, creates: !request.isDryRun, threads: request.threads)
        } catch StoreError.missing where request.isDryRun {
            return try PersistentContainer(temporaryWith: Model())
        }
    }

    /// Returns the request with a table's primary key as its key, unless another key is given, or a stored entity
    /// decides that its attribute isn't unique. In the latter case, throws `ImportError` if the request needs a key.
    private func keyed(
        _ request: ImportRequest, by primaryKey: String?, in container: PersistentContainer
    ) throws -> ImportRequest {
        guard request.key == nil, let key = primaryKey else { return request }
        let stored = try container.model().entity(named: request.entity)
        guard stored?.attributes.contains(where: { $0.name == key && $0.isUnique }) ?? true else {
            if request.replaces { throw ImportError.notKey(entity: request.entity, attribute: key) }
            return request
        }
        var keyed = request
        keyed.key = key
        return keyed
    }

    /// Imports an empty file, which has zero rows. The store must have the entity, or the given types must define it.
    private func importNothing(_ empty: UnreadableFile) throws -> Outcome {
        let types = request.types
        let container: PersistentContainer
        do {
            container = try PersistentContainer(
                storeAt: request.store, creates: !types.isEmpty && !request.isDryRun)
        } catch StoreError.missing {
            throw empty  // The empty file's error is more helpful.
        }
        let model = try container.model()
        let stored = model.entity(named: request.entity)
        if stored == nil && types.isEmpty { throw empty }
        if let key = request.key, !types.named.contains(where: { $0.name == key }), stored?.slot(of: key) == nil {
            throw stored?.unknownAttribute(key) ?? request.unknownColumn(key, types.named.map(\.name))
        }
        var request = request
        request.relations = []
        let fitting = try EntityPreparation(request, container, nil).fittingModel()
        if !request.isDryRun && fitting != model {
            try BatchWriter(container, adding: fitting, entity: request.entity, key: nil, author: "import").commit()
        }
        var outcome = Outcome()
        outcome.changedModel = fitting != model
        outcome.commit = try container.newestCommit()
        return outcome
    }

    /// Returns the columns that are known before the file is read: those with given types, and those of the stored
    /// entity, which JSON lines may lack. If the entity is new or empty, or gets columns, all JSON lines are read for
    /// their members.
    private func toldColumns() throws -> ToldColumns {
        var names = Set(request.types.named.map(\.name))
        // A fault of the folder is ignored here: opening the store for the rows reports it.
        let container = try? PersistentContainer(storeAt: request.store)
        let stored = try container?.model().entity(named: request.entity)
        if let stored { names.formUnion(stored.columnNames) }
        let isNew = try stored == nil || container?.count(ofEntity: request.entity) == 0
        return ToldColumns(
            names: names, areFoundInAllLines: isNew || request.addsColumns, areListsText: request.areListsText,
            flattens: request.flattens, key: request.key)
    }
}

extension Entity {
    /// The names of columns that the rows of its objects may have.
    fileprivate var columnNames: [String] {
        var names = attributes.map(\.name)
        names += storedRelationships.filter { !$0.isRemoved && $0.storage != .inverse }.map(\.description.name)
        if links != nil { names += [RecordKey.numberName(has), RecordKey.storeName(has)] }
        return names
    }
}
