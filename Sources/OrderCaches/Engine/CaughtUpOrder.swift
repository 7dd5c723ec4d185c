internal import FetchIndexModels
internal import FetchIndexRecords

/// An order of a cache with later changes applied in a fork, before it's stored in the cache.
struct CaughtUpOrder {
    let edits: OrderEdits
    let fork: ForkedOrder
    private let base: SectionedOrder
    private let places: ChangedPlaces

    /// Applies edits in a fork over the nodes of a cache. O(k log n) for k edits.
    init(of cache: CacheRequest, _ header: CacheHeader, _ edits: OrderEdits, in reader: StoreReader) throws {
        self.edits = edits
        base = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
        var fork = ForkedOrder(over: base)
        places = try fork.update(edits)
        self.fork = fork
    }

    /// Computes the change that the edits make in the order. O(k log n) for k changes.
    func change() throws -> OrderChange<RecordKey> {
        try OrderDiff.change(from: base, to: fork.order, edits.rows, places)
    }
}
