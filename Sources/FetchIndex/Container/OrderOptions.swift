internal import FetchIndexOrderCaches

extension PersistentContainer {
    /// The options for opening an order.
    public struct OrderOptions {
        /// The name of the cache; if nil, the order is computed in memory.
        public var cacheName: String?
        /// The bytes of memory for sorting. Larger data is sorted on disk, in the store's folder.
        public var memoryBudget = 256 << 20
        /// Called repeatedly during a build, with the number of records read so far and of all records.
        public var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

        /// Whether the exact change since the cache was last current is needed, whatever it costs. Otherwise, an order
        /// is rebuilt with the reason `tooManyChanges` if a rebuild costs less than the changes.
        public var needsExactChange = false

        /// The maximum time that a build waits for another writer before it throws `StoreError.writerBusy`. With
        /// `needsExactChange`, also the maximum time that the end of `withOrder` waits. If nil, a build waits without
        /// limit, and the end five seconds.
        public var writeTimeout: Duration?

        /// Whether a cache of another request with the same name is replaced. Otherwise opening it throws
        /// `StoreError.cacheLocked`, as if the cache were locked.
        public var replacesOtherRequest = true

        /// Called with the outcome, without its change, before anything is built or stored. An error that it throws
        /// ends the opening: a program can refuse to wait for a build.
        public var check: ((FetchOutcome) throws -> Void)?

        /// The author of the opening, for the cache's history.
        public var author = ""

        /// The rows that an order without cache, sections and aggregates has.
        var wantedRows = WantedRows.all

        public init(cacheName: String? = nil) { self.cacheName = cacheName }

        func applied(to request: OrderRequest) -> OrderRequest {
            var request = request
            request.builder.memoryBudget = memoryBudget
            request.builder.progress = progress
            return request
        }
    }
}
