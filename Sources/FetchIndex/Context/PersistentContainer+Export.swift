#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
internal import LMDB

extension PersistentContainer {
    /// Hands out the records that a definition has as members, of one state of the store: by object number, or sorted
    /// when it has sort keys. All records of the entity are compared with their checksums first: damaged ones are left
    /// out and returned, or are an error that names the first. O(n) and no memory unless there are damaged ones, or
    /// O(n log n) and the memory that sorting may take.
    package func forEachRecord(
        of definition: OrderDefinition, skippingDamaged: Bool = false,
        _ body: (ObjectID, borrowing RecordView) throws -> Void
    ) throws -> [ObjectID] {
        var request = try compile(definition, OrderOptions())
        let snapshot = try store.snapshot()
        let entity = request.builder.entity
        let damaged = try snapshot.damagedRecords(of: entity)
        if let first = damaged.first {
            let others = damaged.count == 1 ? "" : ", and \(damaged.count - 1) more"
            guard skippingDamaged else {
                throw StoreError.corrupted(
                    "the record of \(definition.entity) \(first.number) does not match its checksum\(others)")
            }
            let left = Set(damaged)
            request.builder.candidates = { reader in
                var objects: [ObjectID] = []
                try reader.scan(entity) { object, _ in
                    if !left.contains(object) { objects.append(object) }
                    return true
                }
                return objects
            }
        }
        let isSorted = !definition.sortKeys.isEmpty
        try request.builder.walkMembers(of: snapshot, replacing: [:], isSorted: isSorted) { object in
            _ = try snapshot.record(object) { try body(object, RecordView($0)) }
            return true
        }
        return damaged
    }
}

/// A file that appears under its name when it is whole, and that only its owner may read.
package final class ExportFile {
    private let path: String
    private var file: NewFile?

    /// Throws unless there is nothing at the path, or a regular file that is no store's.
    package init(at path: String) throws {
        self.path = path
        var status = stat()
        if lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG {
            throw StoreCopyError.failed(path: path, "it is no regular file")
        }
        try Store.requireOutsideOfStores(path)
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
        error == .busy ? "another process is writing it" : error.reason
    }
}
