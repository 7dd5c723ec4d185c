internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexEssentials
internal import FetchIndexModels

/// A folder in the system's folder for temporary files, which is removed with the value. It's made when it is needed.
final class TemporaryFolder {
    let path: String

    init(named name: String) {
        path = FileManager.default.temporaryDirectory.path + "/fetchindex-\(name)-" + UUID().uuidString
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A file of JSON lines with rows of an entity. It's made when it is needed.
final class RowsFile {
    private let entity: Entity
    private let path: String
    private let folder: TemporaryFolder
    /// The file; nil until it's needed.
    private var file: ExportFile?
    private var writer: CatalogueWriter
    /// The numbers of the rows' objects.
    private(set) var numbers: [UInt64] = []

    init(of entity: Entity, in folder: TemporaryFolder) throws {
        self.entity = entity
        self.folder = folder
        path = folder.path + "/" + UUID().uuidString + ".jsonl"
        writer = try CatalogueWriter(.jsonl, columns: entity.attributes.map(\.name))
    }

    func append(_ row: FetchedRow) throws {
        numbers.append(row.id.number)
        for index in entity.attributes.indices {
            let isText = try row.text(at: index) { try writer.append(text: $0) }
            if !isText { try writer.append(try row.value(at: index)) }
        }
        try writer.endRow()
        guard writer.bytes.count >= CatalogueWriter.pieceLength else { return }
        try opened().write(writer.bytes)
        writer.removeWritten()
    }

    private func opened() throws -> ExportFile {
        if let file { return file }
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let made = try ExportFile(at: path)
        file = made
        return made
    }

    /// Writes the rest, and returns the file's path.
    func finish() throws -> String {
        let file = try opened()
        try file.write(writer.bytes)
        try file.keep()
        return path
    }
}
