public import FetchIndexEssentials
public import FetchIndexModels

/// A model that a file of Core Data contains.
public struct CoreDataModel: Sendable {
    /// The model, as far as it can be represented.
    public let model: Model
    /// What the file declares and `model` lacks or represents otherwise.
    public let differences: [CoreDataDifference]
    /// The names of the classes of the objects, by entity, as far as the file names classes.
    public let classNames: [String: String]

    /// Reads a model. The URL is that of a bundle with versions (`.xcdatamodeld`, or compiled `.momd`), of one version
    /// (`.xcdatamodel`, `.mom`), of the `contents` of a version, or of a store that contains its model. `version` is the
    /// name of a version, such as "App 3"; by default, the bundle's current one.
    ///
    /// Throws `CoreDataFileError`, and `ModelError.invalid` if the model contradicts itself. O(bytes).
    public init(contentsOf url: URL, version: String? = nil) throws {
        let file = try ModelBundle(url, version: version)
        let source = try file.source()
        let converter = try ModelConverter(source)
        model = converter.model
        var differences = converter.differences
        if file.lacksLog {
            let what = "what is in its log, if it had one: \(url.lastPathComponent)-wal is missing"
            differences.insert(CoreDataDifference(kind: .leftOut, what: what, count: 0, names: []), at: 0)
        }
        self.differences = differences
        let classes = source.entities.compactMap { entity in entity.className.map { (entity.name, $0) } }
        classNames = Dictionary(classes) { first, _ in first }
    }
}

extension Model {
    /// Reads the model that a file of Core Data contains; see `CoreDataModel`, which also says what can't be represented.
    public init(contentsOf url: URL, version: String? = nil) throws {
        self = try CoreDataModel(contentsOf: url, version: version).model
    }
}
