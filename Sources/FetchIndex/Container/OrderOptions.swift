internal import FetchIndexOrderCaches

extension PersistentContainer {
    /// How an order is opened.
    public struct OrderOptions {
        /// The name of the cache; nil: the order is computed in memory.
        public var cacheName: String?
        /// The bytes of memory for sorting; more is sorted on disk, in the store's folder.
        public var memoryBudget = 256 << 20
        /// Called repeatedly during a build, with the number of records that were read and of all records.
        public var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

        /// Whether the exact change since the cache was last current is wanted at any cost. Else an order is rebuilt, with the
        /// reason `tooManyChanges`, when a rebuild costs less than the changes.
        public var needsExactChange = false

        /// How long a build waits for a busy writer before it throws `StoreError.writerBusy`, and how long the end of `withOrder` waits
        /// where `needsExactChange` is wanted. Nil: a build waits without limit, the end five seconds.
        public var writeTimeout: Duration?

        /// Whether a cache of another request that has the name is replaced. Else that is `StoreError.cacheLocked`, as if the cache were
        /// locked.
        public var replacesOtherRequest = true

        /// Gets the outcome, without its change, before anything is built or stored, and may throw.
        package var check: ((FetchOutcome) throws -> Void)?

        /// Who opens the cache; its history names it.
        public var author = ""

        /// An order without cache, sections and aggregates has only this many rows, the first ones.
        package var mostRows = Int.max
        /// Whether such an order knows how many rows there are in all.
        package var countsAllRows = true

        public init(cacheName: String? = nil) { self.cacheName = cacheName }

        var wantedRows: WantedRows { WantedRows(most: mostRows, countsAll: countsAllRows) }

        func applied(to request: OrderRequest) -> OrderRequest {
            var request = request
            request.builder.memoryBudget = memoryBudget
            request.builder.progress = progress
            return request
        }
    }
}
