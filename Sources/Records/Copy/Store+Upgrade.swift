internal import FetchIndexCLibrary
internal import FetchIndexModels
internal import FetchIndexLMDB

/// The result of an upgrade: a store's file was converted to the layout of the LMDB that this program uses.
public struct StoreUpgrade: Equatable, Sendable {
    /// The releases of LMDB that use the old layout: "LMDB 0.9" or "LMDB 1.0".
    public let from: String
    /// The releases of LMDB that use the new layout.
    public let to: String
    /// The bytes of the store's file before the upgrade.
    public let bytesBefore: Int
    public let bytesAfter: Int
    /// The defects that the store had and still has, one sentence each.
    public package(set) var defects: [String] = []
}

extension Store {
    /// Converts a store's file to the layout of the linked LMDB, with all its values. Returns nil if it has that layout.
    /// Pages are checked before; `check` gets the folder of the new store before the files are swapped, and stops the
    /// upgrade if it throws. The old file stays as data.mdb.before. Throws `StoreError`, and `StoreCopyError`, for
    /// example if a process has the store open. O(bytes of the store)
    package static func upgrade(at path: String, check: (_ folder: String) throws -> Void) throws -> StoreUpgrade? {
        try requireFile(at: path)
        do {
            guard try DataFile.otherLayout(inFolder: path, StoreState.witness) != nil else { return nil }
            // Lost pages aren't copied, so they don't matter.
            let report = try Environment.checkPages(at: path, expecting: StoreLayout.tables)
            if !report.isReadable { throw StoreError.corrupted("\(report.defects[0]); nothing was changed") }
            if let defect = report.firstWrongChecksum {
                throw StoreError.corrupted(
                    "\(defect); nothing was changed: `compact` by a program that uses the store's LMDB writes its pages anew"
                )
            }
            let conversion = try Environment.convert(at: path, StoreState.witness) { folder in
                try renewState(inFile: folder + "/" + StoreFiles.data)
                try check(folder)
            }
            return conversion.map {
                StoreUpgrade(
                    from: $0.from.releases, to: PageLayout.linked.releases, bytesBefore: $0.bytesBefore,
                    bytesAfter: $0.bytesAfter)
            }
        } catch let error as Environment.InUse {
            throw StoreCopyError.inUse(process: error.process, program: programName(ofProcess: error.process))
        } catch is Environment.OldFileExists {
            throw StoreCopyError.oldFileExists(path: path + "/" + EnvironmentFiles.old)
        } catch let error as LMDBError where !error.isDamage {
            throw StoreCopyError.failed(path: path, error.reason)
        } catch {
            throw explain(error, at: path)
        }
    }

    /// Writes the state again, because it contains the number of the LMDB transaction that wrote it.
    private static func renewState(inFile path: String) throws {
        try Environment.write(toFile: path, table: StoreLayout.metaTable) { view, meta in
            var state: StoreState?
            _ = try view.get(StoreLayout.stateKey, in: meta) { state = try StoreState(decoding: $0) }
            if let state { try view.put(state.encoded(writtenBy: view), for: StoreLayout.stateKey, in: meta) }
        }
    }

    /// Deletes the file that an upgrade has kept. Returns its length; nil if it is missing. The store's own file must be
    /// whole. Throws `StoreError`.
    package static func deleteOldFile(at path: String) throws -> Int? {
        var options = Options()
        (options.isReadOnly, options.remembersOpenings) = (true, false)
        let store = try Store(at: path, options: options)
        if let defect = try checkPages(at: path).defects.first {
            throw StoreError.corrupted("\(defect); the old file was kept")
        }
        do { return try Environment.deleteOldFile(at: store.path) } catch { throw explain(error, at: path) }
    }
}

extension Store {
    /// The releases of LMDB that use the linked LMDB's layout.
    package static var lmdbRelease: String { PageLayout.linked.releases }
}
