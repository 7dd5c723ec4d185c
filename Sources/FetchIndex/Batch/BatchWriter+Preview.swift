internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// What committing a transaction would change. Valid only within the body that gets it.
public struct BatchPreview {
    private let container: PersistentContainer
    private let writer: StoreWriter
    /// The newest commit, before the transaction.
    private let commit: UInt64

    fileprivate init(_ container: PersistentContainer, _ writer: StoreWriter, since commit: UInt64) {
        (self.container, self.writer, self.commit) = (container, writer, commit)
    }

    /// The exact change that the transaction would make in an order. With the name of a cache of this order, the cache
    /// saves computing the order from all records; it isn't changed. O(k log n) for k changes, O(n log n) without a
    /// usable cache or for very many changes. Throws `StoreError`, and other errors if the definition doesn't fit the
    /// model.
    public func changes(of definition: OrderDefinition, cacheName: String? = nil) throws -> ResultsChange {
        try withPublicErrors {
            let model = writer.model
            let request = try definition.compile(in: model)
            let engine = container.cacheEngine
            let order = try cacheName.map { try engine.preview(CacheRequest(name: $0, order: request), in: writer) }
            let change = try engine.change(
                of: request.builder, to: order ?? CacheEngine.compute(request, in: writer).order, since: commit,
                in: writer)
            return change.identified { container.id(of: $0, in: model) }
        }
    }

    /// Finds the descriptions of changed objects, without the values of objects that would exist.
    package func names() throws -> ObjectNames {
        try withPublicErrors { try ObjectNames(in: writer, since: commit, withValues: false) }
    }
}

extension BatchWriter {
    /// Calls the body with a preview of what committing the open transaction would change, and then drops the
    /// transaction: nothing is written, and no other reader sees anything of it. `counts` still includes its changes.
    /// Returns nil, without calling the body, if no transaction is open. Throws like ``commit()``, and rethrows the
    /// body's errors.
    public func preview<Result>(_ body: (BatchPreview) throws -> Result) throws -> Result? {
        try withPublicErrors {
            try settleUpdates()
            guard let ended = writer else { return nil }
            rollback()
            let commit = ended.commit
            try ended.seal()
            return try body(BatchPreview(container, ended, since: commit))
        }
    }
}
