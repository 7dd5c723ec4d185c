internal import FetchIndexLMDB
internal import Synchronization

extension StoreReader {
    /// Opens another snapshot of the same state, for another thread. Returns nil if a writer has committed in the
    /// meantime, or if no snapshot can be opened, for example because all reader slots are taken.
    package func another() -> Snapshot? {
        guard let other = try? store.snapshot(), other.view.identifier == view.identifier else { return nil }
        return other
    }
}

/// An unchanging state of a store. While the snapshot exists, LMDB doesn't reuse the pages of the state, so release it
/// soon.
package final class Snapshot: StoreReader {
    private let transaction: ReadTransaction
    private var verified: Set<Int>
    private let number: UInt64
    private static let lastNumber = Atomic<UInt64>(0)

    init(_ store: Store) throws {
        let transaction = try store.environment.beginRead(ignoringChecksums: store.ignoresPageChecksums)
        let view = transaction.view
        self.transaction = transaction
        number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        verified = store.verified.withLock { $0.transaction == view.identifier ? $0.entities : [] }
        try super.init(store, view)
    }

    package override var identity: UInt64? { number }

    /// The number of the newest LMDB transaction that the snapshot sees. Transactions that only write caches are
    /// counted too.
    package var transactionNumber: Int { view.identifier }

    override var verifiedEntities: Set<Int> { verified }

    /// Remembers that all records of an entity are verified. Later snapshots of the same state and the same `Store`
    /// don't verify them again, unless scans of a newer state have verified an entity in the meantime.
    override func noteVerified(_ entity: Int) {
        guard verified.insert(entity).inserted else { return }
        store.verified.withLock { newest in
            if newest.transaction < view.identifier { newest = .init(transaction: view.identifier) }
            if newest.transaction == view.identifier { newest.entities.insert(entity) }
        }
    }
}
