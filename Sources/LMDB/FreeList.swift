internal import LMDBCheck
internal import CLMDB

extension TransactionView {
    /// Pages that hold nothing, by the transaction that freed them: LMDB's table 0, whose values begin with a count.
    /// Of a read transaction only. O(transactions whose pages wait). Throws `DataFileError` when a list is longer than its
    /// value.
    package func freePages() throws -> [(transaction: Int, count: Int)] {
        var freed: [(transaction: Int, count: Int)] = []
        try forEachEntry(in: Table(handle: 0, keys: .integers)) { cursor in
            let byteCount = cursor.value.byteCount
            guard byteCount >= 8 else { throw DataFileError.damaged("its free list is cut off") }
            let count = cursor.value.unsafeLoadUnaligned(as: UInt64.self)
            guard count < UInt64(byteCount / 8) else {
                throw DataFileError.damaged("its free list has \(count) pages in \(byteCount) bytes")
            }
            freed.append((Int(clamping: cursor.integerKey), Int(clamping: count)))
        }
        return freed
    }

    /// The transaction's number; of a write transaction, the one that its commit makes. mdb_txn_id
    package var identifier: Int { mdb_txn_id(handle) }
}
