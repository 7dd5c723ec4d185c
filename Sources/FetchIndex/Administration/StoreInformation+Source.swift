internal import FetchIndexRecords

extension PersistentContainer {
    /// The sources that the store follows.
    func sources(in snapshot: Snapshot) throws -> [StoreInformation.Source] {
        try snapshot.sourceNames().compactMap { try source($0, in: snapshot) }
    }

    private func source(_ name: String, in snapshot: Snapshot) throws -> StoreInformation.Source? {
        guard let source = try snapshot.followedSource(named: name, as: SourceFacts.self) else { return nil }
        let position = try snapshot.sourcePosition(named: name)
        let status = store.sourceStatus(named: name)
        let committed = position?.time ?? 0
        // A process that follows several sources may have given one up for now.
        let follower = Store.follower(at: store.path)
        let isRunning = follower.map { $0 != status?.process || status?.state != .stopped } ?? false
        let age = status.map { max(0, currentTime() - $0.time) }
        let isConnected = status?.state == .streaming || status?.state == .copying
        let isCurrent = isRunning && isConnected && age.map { $0 < Self.longestReportInterval } ?? false
        let silence = status?.heard.map { max(0, currentTime() - $0) }
        // At the time of the report, the store was this far behind what the source had when it was last heard from.
        let delay = status?.lagSeconds.flatMap { lag in silence.map { lag + $0 } }
        return StoreInformation.Source(
            name: name, address: source.address, slot: source.way == "stream" ? source.slot : nil,
            tables: source.tables.map {
                StoreInformation.Source.Table(
                    name: "\($0.schema).\($0.name)", entity: $0.entity, key: $0.key, shard: $0.shard?.attribute,
                    condition: $0.condition, isCopied: $0.isCopied, omittedRows: $0.omittedRows)
            },
            position: position?.text, isConsistent: source.isConsistent, committed: committed > 0 ? committed : nil,
            state: status?.state.rawValue, isRunning: isRunning, process: status?.process, age: age,
            lagBytes: isCurrent ? status?.lagBytes : nil, lagSeconds: isCurrent ? status?.lagSeconds : nil,
            silence: silence, greatestLagSeconds: source.isConsistent ? delay : nil, slotState: status?.slotState,
            retainedBytes: status?.retainedBytes, reason: status?.reason)
    }

    /// A follower that streams reports each second. After this many seconds, its report counts as old.
    private static let longestReportInterval = 15.0
}
