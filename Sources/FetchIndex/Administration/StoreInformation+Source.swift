internal import FetchIndexRecords

extension PersistentContainer {
    /// The source that the store follows; nil if it doesn't follow one.
    func source(in snapshot: Snapshot) throws -> StoreInformation.Source? {
        guard let source = try snapshot.sourceFacts() else { return nil }
        let position = try snapshot.sourcePosition()
        let status = store.sourceStatus
        let committed = position?.time ?? 0
        return StoreInformation.Source(
            address: source.address, slot: source.way == "stream" ? source.slot : nil,
            tables: source.tables.map {
                StoreInformation.Source.Table(
                    name: "\($0.schema).\($0.name)", entity: $0.entity, key: $0.key, condition: $0.condition,
                    isCopied: $0.isCopied)
            },
            position: position?.text, isConsistent: source.isConsistent, committed: committed > 0 ? committed : nil,
            state: status?.state.rawValue, isRunning: Store.isFollowing(at: store.path), process: status?.process,
            age: status.map { max(0, currentTime() - $0.time) }, lagBytes: status?.lagBytes,
            lagSeconds: status?.lagSeconds, slotState: status?.slotState, retainedBytes: status?.retainedBytes,
            reason: status?.reason)
    }
}
