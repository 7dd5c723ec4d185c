internal import FetchIndexCLibrary
internal import FetchIndexPlatform
package import FetchIndexLMDB
internal import FetchIndexModels

/// The counters of a store, which are the value of "state" in the meta table.
package struct StoreState: Equatable, Sendable {
    /// The number of the newest commit; 0 in a new store.
    package var commit: UInt64 = 0
    /// The log has the commits after this one.
    package var logStart: UInt64 = 0
    package var logBytes: UInt64 = 0
    static let leastLogLimit: UInt64 = 256 << 20
    /// The maximum length of a log in bytes: at least `stored`, and a quarter more than the records' pages, so that the
    /// log can hold a change of all records, also after it was trimmed to 7/8. A limit of less than 256 MiB is kept.
    static func logLimit(_ stored: UInt64, recordBytes: UInt64) -> UInt64 {
        stored < leastLogLimit ? stored : max(stored, recordBytes / 4 * 5)
    }

    /// If the log grows past this number of bytes, its oldest commits are deleted; see `StoreReader.logLimit`.
    package var logLimit = leastLogLimit
    /// The version of the model, incremented whenever the stored model changes. A repair of the state sets it to a new
    /// number.
    var modelVersion: UInt32 = 0

    /// The objects that may lack their unique keys, because a first import of them is running or didn't end, or because
    /// their keys couldn't be written.
    struct UnkeyedObjects: Equatable, Sendable {
        let entity: Int
        /// The number of the first object that may lack its unique keys.
        let first: UInt64
    }
    var unkeyed: UnkeyedObjects?

    /// The LMDB transaction that wrote the state; 0 in a store of version 2, which didn't store it.
    private var transaction: UInt64 = 0

    /// The upper bound of commit numbers and byte counts.
    static let greatest: UInt64 = 1 << 62

    init() {}

    package init(decoding bytes: RawSpan) throws {
        var reader = try ByteReader(checked: bytes, "the store's state")
        commit = try reader.uint64()
        logStart = try reader.uint64()
        logBytes = try reader.uint64()
        logLimit = try reader.uint64()
        modelVersion = try reader.uint32()
        if !reader.isAtEnd { transaction = try reader.uint64() }
        if !reader.isAtEnd {
            // The state of an older program lacks `first`: such a program left out the unique keys of all objects of
            // the entity.
            let entity = Int(try reader.uint16())
            unkeyed = UnkeyedObjects(entity: entity, first: reader.isAtEnd ? 0 : try reader.uint64())
        }
        // A checksum finds damage, not forgery, so the counters are limited: no sum of them may overflow.
        guard [commit, logStart, logBytes, logLimit].allSatisfy({ $0 <= Self.greatest }),
            unkeyed?.first ?? 0 <= RecordKey.maximumNumber
        else {
            throw StoreError.corrupted("the store's state has a counter that is out of range")
        }
    }

    package func encoded(writtenBy view: TransactionView) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in [commit, logStart, logBytes, logLimit] { bytes.appendNumber(number) }
        bytes.appendNumber(modelVersion)
        bytes.appendNumber(UInt64(view.identifier))
        if let unkeyed {
            bytes.appendNumber(UInt16(unkeyed.entity))
            bytes.appendNumber(unkeyed.first)
        }
        bytes.appendChecksum()
        return bytes
    }

    /// Checks that the newest state in a file was written by the file's newest transaction. In a compact copy, LMDB
    /// numbers transactions from 1 again, but the state still names the original's transaction, so transaction 1 isn't
    /// checked.
    static let witness = Witness(table: StoreLayout.metaTable, key: StoreLayout.stateKey) { transaction, value in
        guard let bytes = value, let state = try? StoreState(decoding: bytes.span.bytes), state.transaction > 0,
            transaction > 1, transaction != state.transaction
        else { return nil }
        return
            "the newest meta page of its data.mdb belongs to transaction \(transaction), but leads to a state of transaction "
            + "\(state.transaction)"
    }
}

/// The counters of one entity.
package struct EntityState: Equatable, Sendable {
    /// The least number that the next inserted object can get.
    package var nextObject: UInt64 = 1
    package var count: UInt64 = 0

    init() {}

    init(decoding bytes: RawSpan) throws {
        var reader = try ByteReader(checked: bytes, "an entity's state")
        nextObject = try reader.uint64()
        count = try reader.uint64()
        guard 1...RecordKey.maximumNumber ~= nextObject, count < nextObject else {
            throw StoreError.corrupted("an entity's state has a counter that is out of range")
        }
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendNumber(nextObject)
        bytes.appendNumber(count)
        bytes.appendChecksum()
        return bytes
    }
}

/// The current time in seconds since 1970.
package func currentTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
