internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// What committing a transaction would change. Valid only within the body that gets it.
public struct BatchPreview {
    /// The newest commit, before the transaction.
    package let commit: UInt64
    private let container: PersistentContainer
    let writer: StoreWriter
    private let damage = FetchedOrder.Damage()

    fileprivate init(_ container: PersistentContainer, _ writer: StoreWriter) throws {
        (self.container, self.writer) = (container, writer)
        commit = try container.store.snapshot().commit
    }

    /// The numbers of objects of all entities that the transaction inserts, updates and deletes. Each object is counted
    /// once, by its state before and after; objects that delete rules delete count too. `unchanged` is 0. O(k log n) for
    /// k changes. Throws `StoreError`.
    public func counts() throws -> BatchWriter.Counts {
        damage.requireOpen()
        return try withPublicErrors {
            var counts = BatchWriter.Counts()
            let entities = try Set(writer.commits(after: commit).flatMap(\.changes.keys))
            for entity in entities where writer.model.entities.indices.contains(entity) {
                try writer.netChanges(of: entity, from: commit) { change in
                    if change.old == nil {
                        counts.inserted += 1
                    } else if change.new == nil {
                        counts.deleted += 1
                    } else {
                        counts.updated += 1
                    }
                }
            }
            return counts
        }
    }

    /// Calls the body with the preview, whose orders can't be read afterwards.
    fileprivate func during<Result>(_ body: (BatchPreview) throws -> Result) rethrows -> Result {
        defer { damage.isEnded = true }
        return try body(self)
    }

    /// An order as the transaction would leave it, with the exact change. With the name of a cache of this order, the
    /// cache saves computing the order from all records; it isn't changed. O(k log n) for k changes, O(n log n) without
    /// a usable cache or for very many changes. Throws `StoreError`, and other errors if the definition doesn't fit the
    /// model.
    public func order(_ definition: OrderDefinition, cacheName: String? = nil) throws -> OrderPreview {
        damage.requireOpen()
        return try withPublicErrors {
            let model = writer.model
            let request = try definition.compile(in: model)
            let engine = container.cacheEngine
            let opened =
                try cacheName.map { name in
                    try engine.open(CacheRequest(name: name, order: request), in: writer, for: .previewing)
                        .order(of: request, in: writer)
                } ?? CacheEngine.compute(request, in: writer)
            let change = try engine.change(of: request.builder, to: opened.order, since: commit, in: writer)
            let order = try FetchedOrder(opened, of: request.builder, writer, in: container, damage: damage)
            return OrderPreview(
                order: order, change: change.identified { order.id(of: $0) }, definition: definition,
                cacheName: cacheName)
        }
    }
}

extension BatchPreview {
    /// Calls the body with the net change of each object of an entity and its subentities that the transaction would
    /// make, as ``PersistentContainer/forEachChange(ofEntity:since:until:_:)`` does. O(k log n) for k changes. Throws
    /// `StoreError`, and rethrows the body's errors.
    public func forEachChange(ofEntity name: String, _ body: (ObjectChange) throws -> Void) throws {
        damage.requireOpen()
        try withPublicErrors {
            try container.forEachChange(ofEntity: name, from: commit, to: writer.commit, in: writer, body)
        }
    }
}

/// An order as a transaction would leave it. Valid only within the body that got the transaction's ``BatchPreview``.
public struct OrderPreview {
    /// The order after the transaction.
    public let order: FetchedOrder
    /// The exact change that the transaction would make in the order.
    public let change: ResultsChange
    private let definition: OrderDefinition
    private let cacheName: String?

    fileprivate init(order: FetchedOrder, change: ResultsChange, definition: OrderDefinition, cacheName: String?) {
        (self.order, self.change) = (order, change)
        (self.definition, self.cacheName) = (definition, cacheName)
    }

    /// Opens the order before the transaction: that of the newest commit. Costs as much as opening the cache, which isn't
    /// changed. Throws `StoreError`.
    public func before() throws -> FetchedOrder {
        try order.container.withUnchangedOrder(definition, .init(cacheName: cacheName)) { $0 }
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
            defer { ended.drop() }
            try ended.seal()
            return try BatchPreview(container, ended).during(body)
        }
    }

    /// Ends the changes of a transaction that is about to be committed, and lets `beforeCommit` refuse it.
    func seal(_ ended: StoreWriter) throws {
        try ended.seal()
        guard let beforeCommit else { return }
        try BatchPreview(container, ended).during(beforeCommit)
    }
}
