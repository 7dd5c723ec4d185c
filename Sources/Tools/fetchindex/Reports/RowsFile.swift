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

/// A file of JSON lines with rows of an entity.
final class RowsFile {
    private let entity: Entity
    private let path: String
    private let file: ExportFile
    private var writer: CatalogueWriter

    init(of entity: Entity, in folder: TemporaryFolder) throws {
        self.entity = entity
        path = folder.path + "/" + UUID().uuidString + ".jsonl"
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        file = try ExportFile(at: path)
        writer = try CatalogueWriter(.jsonl, columns: entity.attributes.map(\.name))
    }

    func append(_ row: FetchedRow) throws {
        for index in entity.attributes.indices {
            let isText = try row.text(at: index) { try writer.append(text: $0) }
            if !isText { try writer.append(try row.value(at: index)) }
        }
        try writer.endRow()
        guard writer.bytes.count >= CatalogueWriter.pieceLength else { return }
        try file.write(writer.bytes)
        writer.removeWritten()
    }

    /// Writes the rest, and returns the file's path.
    func finish() throws -> String {
        try file.write(writer.bytes)
        try file.keep()
        return path
    }
}
