internal import FetchIndex
public import FetchIndexEssentials
public import FetchIndexModels

/// What is taken over from a store of Core Data.
public struct CoreDataImportOptions: Sendable {
    /// The app's model, which is used if the store doesn't contain its own: a bundle, or one version. Of several versions,
    /// the one that fits the store's tables is used.
    public var model: URL?
    /// The entities to take over, with their superentities and subentities; nil for all.
    public var entities: [String]?
    /// The entities that are left out, with their subentities.
    public var without: [String] = []
    /// The maximum share of the stored objects that a later copy may lack, in per cent.
    public var mostDeleted = 50
    /// Whether any difference is an error, before anything is written.
    public var isStrict = false
    /// Whether the copy is a later one of the stored objects although its identifier is another, or although they weren't
    /// imported. They are replaced by number.
    public var hasSameIdentity = false
    /// Whether transformable attributes whose values are archives of plain Foundation types, and SwiftData's lists of
    /// structures, become texts of JSON.
    public var decodesArchives = false
    /// Whether as many objects as possible of a damaged store are read.
    public var salvages = false
    /// Whether all objects are read, although the store's persistent history says which of them changed. Needed if
    /// something else than the app has changed the store.
    public var readsAll = false

    public init() {}
}

/// A store of Core Data. A private copy of it is read; the store isn't changed, and nothing is written beside it.
public final class CoreDataStore {
    public let url: URL
    /// The identifier of the store; nil if it has none.
    public let identifier: UUID?
    /// The model of the objects that are taken over.
    public let model: Model
    /// What the store has that is left out or represented otherwise, and what it lacks.
    public let differences: [CoreDataDifference]
    /// The number of objects by the name of their entity.
    public let objectCounts: [String: Int]
    /// The entities of the app's whole model.
    let entityNames: Set<String>
    let reader: ObjectReader
    let options: CoreDataImportOptions
    private let shared: Set<BrokenConstraint>
    /// What a later import needs to read or write less.
    let read: ImportedStore.Read?

    /// Unique values that occur twice, or are too long, after they were converted.
    struct BrokenConstraint: Hashable {
        let entity: String
        let attributes: String
    }

    /// Copies a store, and reads its model and all of its objects once, to find out what can't be taken over. Throws
    /// `CoreDataFileError`, and `ModelError.invalid` if the model contradicts itself. O(n log n).
    public convenience init(
        contentsOf url: URL, options: CoreDataImportOptions = CoreDataImportOptions()
    ) throws {
        try self.init(url, options, without: [])
    }

    /// Reads only the objects of a store that changed since an earlier import. Nil if all must be read. Throws like
    /// `init`.
    static func changes(
        at url: URL, _ options: CoreDataImportOptions, since later: LaterImport
    ) throws -> CoreDataStore? {
        do { return try CoreDataStore(url, options, without: [], since: later) } catch is StoreSurvey.MustReadAll {
            return nil
        }
    }

    /// Reads a store without some uniqueness constraints.
    init(
        _ url: URL, _ options: CoreDataImportOptions, without shared: Set<BrokenConstraint>,
        since later: LaterImport? = nil
    ) throws {
        (self.url, self.options, self.shared) = (url, options, shared)
        var survey = try StoreSurvey(url, options, without: shared, since: later)
        let last = try survey.run()
        identifier = survey.identifier
        entityNames = Set(survey.source.whole.entities.map(\.name))
        differences = survey.differences(last)
        model = try last.converter.model.withoutFormerNames(usedIn: ModelConverter(survey.source.whole).model)
        objectCounts = last.objectCounts
        read = survey.read(last)
        reader = last.reader
        reader.notes = false
    }

    /// Throws `CoreDataFileError` if the options are strict and something can't be taken over.
    package func requireWhole() throws {
        guard options.isStrict, let first = differences.first else { return }
        let others = differences.count - 1
        let more = others == 0 ? "" : "; kinds of other differences: \(others)"
        throw CoreDataFileError(
            path: url.path, reason: "not all of it can be taken over: \(first)\(more)", remedy: .isStrict)
    }

    /// The store read again without a uniqueness constraint that values break; nil if it was read without it.
    func withoutUniqueness(of entity: String, _ attributes: String) throws -> CoreDataStore? {
        let broken = BrokenConstraint(entity: entity, attributes: attributes)
        return shared.contains(broken) ? nil : try CoreDataStore(url, options, without: shared.union([broken]))
    }
}
