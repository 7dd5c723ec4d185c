internal import FetchIndexOrderCaches

extension PersistentContainer {
    /// The options for opening an order.
    public struct OrderOptions {
        /// The name of the cache; nil to compute the order in memory.
        public var cacheName: String?
        /// The amount of memory for sorting, in bytes. Data beyond it is sorted in files in the store's folder.
        public var memoryBudget = 256 << 20
        /// Called repeatedly during a build, with the number of records read so far and the number of all records.
        public var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

        /// Whether the outcome must contain the exact changes since the cache was last current, however many they are.
        /// A cache that can't be caught up, for example because the log doesn't reach back, is rebuilt nevertheless. If
        /// false, a cache is also rebuilt, with the reason `tooManyChanges`, if the number of changes exceeds 10,000
        /// plus a quarter of the objects: a rebuild then usually costs less than catching up.
        public var needsExactChange = false

        /// The maximum time that a build waits for another writer before it throws `StoreError.writerBusy`. If
        /// `needsExactChange`, `withOrder` also waits for up to this time to store the order after the body. If nil, a
        /// build waits without limit, and storing the order waits for up to five seconds.
        public var writeTimeout: Duration?

        /// Whether an opening replaces a cache that has the name but another request. If not, the opening throws
        /// `CacheError.locked`, like an opening of a locked cache.
        public var replacesOtherRequest = true

        /// Called with the outcome of opening a cache, without its change, before the order is built or stored, and
        /// again before it's built anew because of damage. If it throws, the opening ends with this error, so that a
        /// program can refuse to wait for a build.
        public var check: ((FetchOutcome) throws -> Void)?

        /// The author that the cache's history names for the opening.
        public var author = ""

        /// The rows that an order needs to have if it has no cache, no sections and no aggregates.
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
