internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform

/// Reads all objects of a store, in rounds, until the model is one that they fit.
///
///     round    convert the model
///              read the objects: what do they lack, and which values can't be decoded?
///              make optional what they lack, and leave such values undecoded; if any, another round
///
/// Which side of a relationship has its links depends on whether it's optional, so the objects are read again after a
/// property became optional.
struct StoreSurvey {
    /// An import that reads only some objects can't tell all that there is to tell.
    struct MustReadAll: Error {}

    /// What the objects were read with.
    struct Round {
        let converter: ModelConverter
        let schema: StoreSchema
        let reader: ObjectReader

        /// The number of objects by the name of their entity.
        var objectCounts: [String: Int] {
            Dictionary(zip(schema.places.map(\.entity), reader.counts)) { first, _ in first }
                .filter { converter.model.entity(named: $0.key)?.isAbstract == false }
        }
    }

    /// A round finds what the rounds before hid, so a few are enough.
    private static let mostRounds = 10

    let identifier: UUID?
    private(set) var source: StoreModel
    private let url: URL
    private let options: CoreDataImportOptions
    private let shared: Set<CoreDataStore.BrokenConstraint>
    private let later: LaterImport?
    private let copy: StoreCopy
    private let tables: StoreTables
    /// Whether the objects keep all uniqueness constraints.
    private let keepsRules: Bool
    private let history: StoreHistory
    private let settings: ImportedStore.Settings
    /// The required properties that objects lack, of all rounds.
    private var lacks = DifferenceList()
    /// The attributes with values that can't be decoded, of all rounds.
    private var undecodable: Set<ObjectReader.Declared> = []

    /// Copies a store, and reads its model without some uniqueness constraints. With `later`, only the objects that
    /// changed since an earlier import will be read.
    init(
        _ url: URL, _ options: CoreDataImportOptions, without shared: Set<CoreDataStore.BrokenConstraint>,
        since later: LaterImport?
    ) throws {
        (self.url, self.options, self.shared, self.later) = (url, options, shared, later)
        copy = try StoreCopy(url.path, salvages: options.salvages)
        tables = try StoreTables(copy)
        identifier = try copy.identifier()
        source = try StoreModel(of: copy, tables, options)
        source.dropConstraints(shared)
        keepsRules = later == nil ? try !source.dropBrokenConstraints(tables, in: copy) : true
        history = try StoreHistory(copy, tables)
        let archive = try copy.modelArchive() ?? []
        settings = ImportedStore.Settings(Int(archive.span.bytes.checksum), options)
    }

    /// Reads the objects, in as many rounds as are needed, and returns the last one. Throws `MustReadAll` if only changed
    /// objects are read and there is a difference to tell, and `CoreDataFileError`. O(n log n).
    mutating func run() throws -> Round {
        for _ in 0..<Self.mostRounds {
            let round = try begin()
            try round.reader.survey()
            lacks.add(round.reader.lacks.differences)
            undecodable.formUnion(round.reader.undecodable)
            if later != nil, !isExact(round) { throw MustReadAll() }
            source.makeOptional(round.reader.lacking)
            if round.reader.lacking.isEmpty && round.reader.undecodable.isEmpty { return round }
        }
        throw CoreDataFileError(path: url.path, reason: "its objects and its model cannot be reconciled")
    }

    private mutating func begin() throws -> Round {
        if options.decodesArchives { source.decode(except: undecodable) }
        let converter = try ModelConverter(source.chosen)
        let schema = StoreSchema(source.whole, isOwn: source.isOwn, converter, tables)
        let reader = try ObjectReader(copy, schema, converter.model)
        if let later {
            guard let keys = try later.keys(of: reader, history, settings, identifier) else { throw MustReadAll() }
            reader.only = keys
        }
        return Round(converter: converter, schema: schema, reader: reader)
    }

    /// Whether the objects are in the store as the model says.
    private func isExact(_ round: Round) -> Bool {
        lacks.differences.isEmpty && undecodable.isEmpty && round.reader.differences.differences.isEmpty && keepsRules
            && shared.isEmpty
    }

    // MARK: After the last round

    /// What the store has that is left out or represented otherwise, and what it lacks.
    func differences(_ round: Round) -> [CoreDataDifference] {
        var told = DifferenceList()
        if copy.lacksLog {
            told.note(.leftOut, "what is in its log, if it had one: \(url.lastPathComponent)-wal is missing", nil)
        }
        if identifier == nil { told.note(.leftOut, "the store's identifier, which is missing", nil) }
        told.add(source.notes.differences)
        for name in round.schema.renamedEntities {
            told.note(.changed, "entities that have another name in the store", name)
        }
        for name in round.schema.missingEntities { told.note(.leftOut, "objects of entities without a table", name) }
        for name in round.schema.missingProperties { told.note(.leftOut, "properties without a column", name) }
        // A store may have columns of properties that its model has no more.
        if !source.isOwn {
            for name in round.schema.unknownColumns {
                told.note(.leftOut, "columns that the model does not have", name)
            }
        }
        told.add(round.converter.differences + lacks.differences + round.reader.differences.differences)
        return told.differences
    }

    /// What a later import needs to read or write less; nil if it must read and write all.
    func read(_ round: Round) -> ImportedStore.Read? {
        if options.salvages || !shared.isEmpty { return nil }
        let mustTell = !isExact(round) || identifier == nil || copy.lacksLog || !source.isOwn
        return ImportedStore.Read(
            point: mustTell ? nil : history.newest, contents: copy.contents, settings: settings,
            versions: round.reader.versionsByEntity, commit: 0, modelVersion: 0)
    }
}
