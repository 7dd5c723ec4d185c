internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexTerminal

/// A model from a store, from a file in the form of `model show --output json`, or from a file of Core Data.
struct ModelInput {
    let model: Model
    /// The names of the classes of the objects, by entity, as far as the file names classes.
    var classNames: [String: String] = [:]
    /// Whether the file is one of Core Data, whose models say all that an entity has.
    var isWhole = false

    /// Reads a model, and prints what of it can't be represented on standard error. `version` is that of a bundle of Core
    /// Data.
    init(_ path: String, version: String? = nil) throws {
        if !Self.isCoreData(path) {
            if let version {
                throw Failure("\(path) is not a model of Core Data, so it has no version \(version)")
            }
            if (try? Folder.kind(at: path)) == .folder {
                model = try PersistentContainer(storeAt: path, isReadOnly: true).model()
            } else {
                model = try ModelFile.read(path)
            }
            return
        }
        let program = CompanionProgram(
            name: "fetchindex-coredata", purpose: "the program that reads files of Core Data")
        let json = try program.output(of: ["model", path] + (version.map { ["--version", $0] } ?? []))
        let found = try ForeignModel(json: Data(json))
        for sentence in found.differences { Output.error(sentence) }
        model = try found.model(of: path)
        (classNames, isWhole) = (found.classNames, true)
    }

    /// The model to which a store is to be migrated. If the file says all that an entity has, what it lacks is removed; if
    /// `dropsEntities`, so are entities.
    func target(for stored: Model, dropsEntities: Bool = false) throws -> Model {
        if isWhole { return try model.replacing(stored, dropsEntities: dropsEntities) }
        if !dropsEntities { return model }
        let kept = Set(model.entities.flatMap { [$0.name, $0.renamedFrom].compactMap { $0 } })
        let left = stored.entities.map(\.name).filter { !kept.contains($0) }
        var whole = Model(entities: model.entities, removed: model.removedEntities + left, requests: model.requests)
        whole.removedRequests = model.removedRequests
        return whole
    }

    /// Whether a path is that of a file or bundle of Core Data.
    private static func isCoreData(_ path: String) -> Bool {
        let endings = [".xcdatamodeld", ".xcdatamodel", ".momd", ".mom"]
        if endings.contains(where: { path.hasSuffix($0) || path.hasSuffix($0 + "/") }) { return true }
        let start = (try? SmallFile.bytes(of: path, limit: 64)) ?? []
        if start.starts(with: "SQLite format 3\0".utf8) { return true }
        // JSON begins with another character.
        return start.first { !" \t\r\n".utf8.contains($0) && $0 < 0x80 } == UInt8(ascii: "<")
    }
}
