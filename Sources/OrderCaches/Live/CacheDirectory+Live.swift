internal import CountedTree
package import Records

/// Brings named orders along with the commits of live readers.
extension CacheDirectory {
    /// A named order that a live reader follows.
    package struct Followed {
        package let name: String
        package let request: OrderRequest

        package init(name: String, request: OrderRequest) {
            self.name = name
            self.request = request
        }
    }

    /// What bringing a named order to a commit did.
    package enum Brought {
        /// It was of commit `first` before.
        case caughtUp(first: UInt64, OrderChange)
        /// It was computed anew, or is not kept any more: another request has taken its name, or it was deleted.
        case lost(RebuildReason)
    }

    /// Brings followed orders to a sealed writer's commit, in its transaction. `edits` lead from `commit`, the one
    /// before the writer's, to the writer's. Returns what that did, by name. With `wantsChange` the exact changes
    /// are computed at any cost, as long as the log reaches back.
    package func bring(
        _ followed: [Followed], along writer: StoreWriter, edits: [RecordChange]? = nil, since commit: UInt64 = 0,
        wantsChange: Bool = false
    ) throws -> [String: Brought] {
        var brought: [String: Brought] = [:]
        for order in followed {
            switch try decide(order.name, order.request, in: writer, wantsChange: wantsChange) {
            case .hit(var header):
                brought[order.name] = .caughtUp(first: header.commit, OrderChange())
                if header.commit != writer.commit {
                    header.commit = writer.commit
                    try Self.put(header, in: writer)
                }
            case .catchUp(let header):
                do {
                    let known = header.commit == commit ? edits : nil
                    let (_, change) = try caughtUp(header, order.request, known, in: writer)
                    brought[order.name] = .caughtUp(first: header.commit, change)
                } catch  where error.isDamage {
                    try buildAnew(order, in: writer)
                    brought[order.name] = .lost(.damaged)
                }
            case .rebuild(let reason):
                if [.tooManyChanges, .logTooShort, .damaged].contains(reason) { try buildAnew(order, in: writer) }
                brought[order.name] = .lost(reason)
            }
        }
        if !followed.isEmpty { try Self.trimLog(in: writer) }
        return brought
    }

    /// Builds a followed order from a writer's records. Damage in those is no reason not to save others: then the cache
    /// is dropped.
    private func buildAnew(_ order: Followed, in writer: StoreWriter) throws {
        do {
            _ = try rebuilt(order.name, order.request, in: writer)
        } catch  where error.isDamage {
            _ = try delete(order.name, in: writer)
        }
    }

    /// The newest state of the store, with followed orders brought to it where no other writer is busy.
    package func newest(_ followed: [Followed]) throws -> Snapshot {
        let snapshot = try store.snapshot()
        let isBehind = try followed.contains { order in
            if case .hit = try decide(order.name, order.request, in: snapshot) { return false }
            return true
        }
        guard isBehind, !store.isReadOnly, !store.hasOpenWriter, let writer = try store.tryBeginWrite() else {
            return snapshot
        }
        _ = try bring(followed, along: writer)
        return try writer.commitAndRead()
    }

    /// A followed order in a snapshot: as it is stored, or brought there in memory.
    package func order(_ followed: Followed, in snapshot: Snapshot) throws -> OrderOfCommit {
        do {
            switch try decide(followed.name, followed.request, in: snapshot) {
            case .hit(let header):
                return OrderOfCommit(
                    order: try order(header, followed.request, in: snapshot),
                    place: .named(followed.name, commit: header.commit))
            case .catchUp(let header):
                let nodes = LMDBNodeStore(in: snapshot, cache: header.number, nextNode: header.nextNode)
                let (order, _) = try replay(header, followed.request, nil, from: snapshot, nodes)
                return OrderOfCommit(order: order, place: .named(followed.name, commit: nil))
            case .rebuild: break
            }
        } catch  where error.isDamage {
            // What is mended is mended from records.
            var request = followed.request
            request.builder.candidates = { _ in nil }
            return try order(request, in: snapshot)
        }
        return try order(followed.request, in: snapshot)
    }

    /// Whether a followed order is stored as it is in a snapshot. O(log n).
    package func isFresh(_ followed: Followed, in snapshot: Snapshot) throws -> Bool {
        if case .hit = try decide(followed.name, followed.request, in: snapshot) { true } else { false }
    }

    /// An order without a name, computed from a snapshot's records. O(n log n).
    package func order(_ request: OrderRequest, in snapshot: Snapshot) throws -> OrderOfCommit {
        let nodes = MemoryNodeStore(capacity: LMDBNodeStore.nodeCapacity)
        return OrderOfCommit(order: try request.builder.build(from: snapshot, in: nodes), place: .memory(nodes))
    }

    /// Opens a named order at the newest state, as `open` does, to be followed.
    package func follow(
        _ followed: Followed, wantsChange: Bool = false
    ) throws -> (OrderOfCommit, OrderOutcome, Snapshot) {
        let opened = try open(followed.name, followed.request, wantsChange: wantsChange)
        let place: OrderOfCommit.Place
        if let memory = opened.order.rows.store as? MemoryNodeStore {
            place = .memory(memory)
        } else {
            // A fork holds what the stored order is behind.
            let isStored = opened.order.rows.store is LMDBNodeStore
            let header = isStored ? try Self.header(followed.name, in: opened.snapshot) : nil
            place = .named(followed.name, commit: header?.commit)
        }
        return (OrderOfCommit(order: opened.order, place: place), opened.outcome, opened.snapshot)
    }
}
