package import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

extension PersistentContainer {
    /// Opens a store by its path, with what only tools choose: how many threads read and sort, that no folder becomes a store, and that the
    /// openings of caches are not remembered, as of a reader that only looks. Users have ``init(at:model:migration:durability:isReadOnly:)``.
    /// Throws `StoreError`.
    package convenience init(
        storeAt path: String, model: Model? = nil, creates: Bool = false, isReadOnly: Bool = false,
        threads: Int = Threads.available, remembersOpenings: Bool = true
    ) throws {
        var options = Store.Options()
        (options.creates, options.isReadOnly, options.threads) = (creates, isReadOnly, threads)
        options.remembersOpenings = remembersOpenings
        try self.init(path: path, model: model, options: options)
    }

    /// The store's folder, without symbolic links, as errors name it. Users know the URL that they opened.
    package var path: String { store.path }

    /// Throws `StoreError.moved` when the store's files are not in their place any more. Two calls of stat. Users' contexts find that out
    /// with their next transaction.
    package func requireInPlace() throws { try withPublicErrors { try store.requireInPlace() } }
}
