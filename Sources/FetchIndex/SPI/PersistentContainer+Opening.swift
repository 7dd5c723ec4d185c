package import FetchIndexModels
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import FetchIndexRecords

extension PersistentContainer {
    /// Opens a store by its path, with options that only tools need: the number of threads for reading and sorting,
    /// whether a missing store is created, whether openings of caches are recorded in their history, and whether pages
    /// with wrong checksums are read. Users have ``init(at:model:migration:durability:isReadOnly:)``. Throws
    /// `StoreError`.
    package convenience init(
        storeAt path: String, model: Model? = nil, creates: Bool = false, isReadOnly: Bool = false,
        threads: Int = Threads.available, remembersOpenings: Bool = true, ignoresPageChecksums: Bool = false
    ) throws {
        var options = Store.Options()
        (options.creates, options.isReadOnly, options.threads) = (creates, isReadOnly, threads)
        options.remembersOpenings = remembersOpenings
        options.ignoresPageChecksums = ignoresPageChecksums
        try self.init(path: path, model: model, options: options)
    }

    /// Whether a folder has a store's data file, which may be damaged. For those that create the store later, and must know
    /// whether others have it open. Users open a store, or don't.
    package static func hasStore(at path: String) -> Bool { access(path + "/" + StoreFiles.data, F_OK) == 0 }

    /// The file that a backup to a folder, or a compaction in it, writes, and the file that an upgrade writes. For bars that
    /// show how far these are. Users have their `progress`.
    package static func copiedFile(inFolder path: String) -> String { path + "/" + StoreFiles.partial }
    package static func upgradedFile(inFolder path: String) -> String {
        path + "/" + StoreFiles.making + "/" + StoreFiles.data
    }

    /// The path of the store's folder, without symbolic links, for messages. Users know the URL that they opened.
    package var path: String { store.path }

    /// Throws `StoreError.moved` if the store's files were moved or replaced. Calls stat a few times. Users get the
    /// same error from the next transaction of a context.
    package func requireInPlace() throws { try withPublicErrors { try store.requireInPlace() } }
}
