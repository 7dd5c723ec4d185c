internal import LMDB

extension PersistentContainer {
    /// Hands out the records that a definition has as members, of one state of the store: by object number, or sorted
    /// when it has sort keys. O(n) and no memory, or O(n log n) and the memory that sorting may take.
    package func forEachRecord(
        of definition: OrderDefinition, _ options: OrderOptions, _ body: (ObjectID, borrowing RecordView) throws -> Void
    ) throws {
        let request = try compile(definition, options)
        let snapshot = try store.snapshot()
        let isSorted = !definition.sortKeys.isEmpty
        try request.builder.walkMembers(of: snapshot, replacing: [:], isSorted: isSorted) { object in
            _ = try snapshot.record(object) { try body(object, RecordView($0)) }
            return true
        }
    }
}

/// A file that appears under its name when it is whole, and that only its owner may read.
package final class ExportFile {
    private let path: String
    private var file: NewFile?

    package init(at path: String) throws {
        self.path = path
        do { file = try NewFile(at: path) } catch { throw StoreCopyError.failed(path: path, Self.reason(error)) }
    }

    package func write(_ bytes: [UInt8]) throws {
        do { try file?.write(bytes.span.bytes) } catch {
            file = nil
            throw StoreCopyError.failed(path: path, Self.reason(error))
        }
    }

    /// Gives the file its name, in the place of one that had it.
    package func keep() throws {
        do {
            if let whole = file.take() { try whole.keep() }
        } catch { throw StoreCopyError.failed(path: path, Self.reason(error)) }
    }

    private static func reason(_ error: LMDBError) -> String {
        error == .busy ? "another process is writing it" : "\(error)"
    }
}
