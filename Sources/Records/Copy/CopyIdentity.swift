internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// Gives a copy of a store its own identifier, and adds the original to the stores that allocated its object numbers.
///
///     original  1 2 3 | 4 5          copied when its last object was 3: numbers below 4 name the same objects in both,
///     copy      1 2 3 | 4            and the 4 of the copy is another object than the 4 of the original
enum CopyIdentity {
    /// Gives a copy its identity, in a transaction that isn't a commit. No process may have the copy open. The format
    /// version isn't raised, so that older programs can open the copy of an older store. A copy without an identifier
    /// isn't changed. Throws `corrupted`, without changing the copy, if the identifier, the state, a counter of an
    /// entity or the originals are damaged.
    static func make(inFile path: String) throws {
        try Environment.write(toFile: path, table: StoreLayout.metaTable) { view, meta in
            guard let identifier = try StoreIdentifier.read(in: view, meta) else { return }
            var state: StoreState?
            _ = try view.get(StoreLayout.stateKey, in: meta) { state = try StoreState(decoding: $0) }
            var original = NumbersOrigin(store: identifier)
            original.ends = try nextNumbers(in: view, meta)
            let originals = try NumbersOrigin.originals(in: view, meta) + [original]
            try view.put(StoreIdentifier.encoded(UUID()), for: StoreLayout.identifierKey, in: meta)
            try view.put(NumbersOrigin.encode(originals), for: StoreLayout.originalsKey, in: meta)
            // The state contains the number of the LMDB transaction that wrote it, so it's written again.
            if let state { try view.put(state.encoded(writtenBy: view), for: StoreLayout.stateKey, in: meta) }
        }
    }

    /// By entity, the least number that its next object can get.
    private static func nextNumbers(in view: TransactionView, _ meta: Table) throws -> [Int: UInt64] {
        let prefix = StoreLayout.entityKey(0).dropLast(2)
        var numbers: [Int: UInt64] = [:]
        try view.walk(meta, from: Array(prefix).span.bytes) { cursor in
            let key = [UInt8](copying: cursor.key)
            guard key.starts(with: prefix) else { return false }
            if key.count == prefix.count + 2 {
                let number = Int(key[prefix.count]) | Int(key[prefix.count + 1]) << 8
                numbers[number] = try EntityState(decoding: cursor.value).nextObject
            }
            return true
        }
        return numbers
    }
}
