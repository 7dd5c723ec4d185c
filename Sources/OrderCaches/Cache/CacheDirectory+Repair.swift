internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexRecords

extension CacheDirectory {
    /// Deletes a cache that can't be rebuilt. Returns a sentence about it for the report of the repair.
    package func remove(_ name: String, because reason: String, in writer: StoreWriter) throws -> String {
        _ = try delete(name, in: writer)
        return
            "cache \"\(name)\" was damaged and has been deleted, because \(reason): fetch with its request to build it again"
    }

    /// Deletes caches with damaged names, and nodes that belong to neither a cache nor a marked build. Returns a report
    /// of the repair.
    package static func removeStrays(in writer: StoreWriter) throws -> [String] {
        let unnamed = try removeUnnamed(in: writer)
        let strays = try strayCaches(in: writer)
        for number in strays { try LMDBNodeStore.deleteNodes(of: number, in: writer) }
        return (unnamed > 0 ? ["\(counted(unnamed, "cache")) had a name that is not UTF-8: deleted"] : [])
            + strays.map { "nodes with cache number \($0) belonged to no cache: deleted" }
    }

    /// The defects of the lists of caches, one sentence each.
    package static func listDefects(in reader: StoreReader) -> [String] {
        let lists: [(name: String, read: (StoreReader) throws -> Void)] = [
            ("maintained", { _ = try maintained(in: $0) }), ("unread", { _ = try unread(in: $0) }),
            ("locked", { _ = try locks(in: $0) }),
        ]
        return lists.compactMap { list in
            do { try list.read(reader) } catch { return "the list of \(list.name) caches: \(error)" }
            return nil
        }
    }

    /// Replaces damaged lists of caches. Must be called before caches are repaired, because repairing a cache reads the
    /// lists. Returns a report of the repair.
    package static func repairLists(in writer: StoreWriter) throws -> [String] {
        try repairMaintained(in: writer) + repairUnread(in: writer) + repairLocks(in: writer)
    }

    private static func removeUnnamed(in writer: StoreWriter) throws -> Int {
        var removed = 0
        try writer.view.forEachEntry(in: writer.tables.caches) { cursor in
            if cursor.key.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) == nil {
                try cursor.deleteCurrent()
                removed += 1
            }
        }
        return removed
    }

    /// The cache numbers under which the store has nodes, but which belong to neither a cache nor a marked build.
    package static func strayCaches(in reader: StoreReader) throws -> [UInt32] {
        var known = Set(try storedNumbers(in: reader))
        if let building = try? reader.markedBuild() { known.insert(building) }
        return try LMDBNodeStore.caches(in: reader).filter { !known.contains($0) }
    }

    /// Replaces a store's state that can't be read, like `Store.repairState`. The new state's commit is greater than
    /// that of each cache whose header can be read. Returns a sentence about the repair; nil if the state is intact.
    package static func repairState(ofStoreAt path: String) throws -> String? {
        try Store.repairState(at: path) { view, tables in
            var newest: UInt64 = 0
            try view.forEachEntry(in: tables.caches) { cursor in
                let name = cursor.key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                newest = max(newest, (try? CacheHeader(name: name, decoding: cursor.value))?.commit ?? 0)
            }
            return newest
        }
    }
}
