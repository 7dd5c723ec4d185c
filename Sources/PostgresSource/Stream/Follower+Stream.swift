internal import FetchIndex
internal import FetchIndexEssentials

// Following the stream of a slot.
extension Follower {
    private static let pollMilliseconds: Int32 = 200
    /// The longest wait for an event, in a follower that ends when it has caught up.
    private static let shortPollMilliseconds: Int32 = 20
    /// The interval at which the catalogue is checked, and the position is stored if no transaction stores it.
    private static let idleInterval = Duration.seconds(10)

    /// Follows the stream until the session's goal is reached, if it has one.
    func followStream(_ isConnected: () -> Void) throws {
        let session = try connectStream()
        isConnected()
        defer { phase = .starting }
        try begin(.streaming(session))
        while true {
            try requireNotInterrupted()
            status.write(.streaming, self)
            if ContinuousClock.now - session.lastChecked > Self.idleInterval {
                try checkSource()
                session.lastChecked = .now
            }
            try adoptPending(session)
            let event = try session.stream.next(
                milliseconds: session.goal == nil ? Self.pollMilliseconds : Self.shortPollMilliseconds)
            try take(event, session)
            status.sent = session.stream.sent
            status.heard = Date().timeIntervalSince1970 - session.stream.silence / .seconds(1)
            if event == nil, let stall = status.takeStall() { tell(.warning(stall)) }
            try copyWhatIsDue()
            if try isAtGoal(session) { return try session.stream.report() }
            let waits = session.goal != nil || source.consistentFrom != nil
            if event == nil && waits { try session.stream.report(wantsReply: true) }
        }
    }

    private func connectStream() throws -> StreamSession {
        let replication = try Connection(source.address, isReplication: true)
        replication.isInterrupted = isInterrupted
        try checkTimeline(replication)
        let stream = ChangeStream(
            replication, from: stored.position, folder: container.path, groupLength: options.groupLength)
        try stream.begin(slot: source.slot, publication: source.publication)
        return StreamSession(stream, goal: options.endsWhenCurrent ? try endOfLog() : nil)
    }

    private func take(_ event: ChangeStream.Event?, _ session: StreamSession) throws {
        switch event {
        case .transaction(let first):
            let transactions = try session.stream.transactions(after: first)
            // A stream may repeat transactions that are stored, and older servers send transactions that have nothing
            // for the store. Both kinds are left out.
            let new = transactions.filter { $0.next > stored.position && $0.messages.count > 0 }
            if !new.isEmpty {
                try apply(new, session)
                session.noteStored(stored.position)
            } else if let last = transactions.last {
                try reach(last.next, session)
            }
        case .reached(let reached): try reach(reached, session)
        case nil: break
        }
    }

    /// Advances to a position before which the source has nothing further for the store. Stores the position if the
    /// store becomes consistent by it, if it reaches the position where following ends, if the server wants a reply (a
    /// server that shuts down waits for it), or if none was stored for ten seconds.
    private func reach(_ reached: LogPosition, _ session: StreamSession) throws {
        try advance(to: reached)
        let isDue = session.stream.isReplyWanted || ContinuousClock.now - session.lastStored > Self.idleInterval
        guard reached > stored.position, isDue || session.goal.map({ reached >= $0 }) ?? false else { return }
        try storePosition()
        session.noteStored(stored.position)
    }

    /// Whether following ends here: the store has all that the source had when the follower connected, including
    /// changes of tables. If such a change is pending, raises the goal to the end that the log had when the change was
    /// noticed.
    private func isAtGoal(_ session: StreamSession) throws -> Bool {
        guard let goal = session.goal, stored.position >= goal, source.isConsistent else { return false }
        try checkSource()
        // Rows may have been read that are newer than the position.
        guard source.isConsistent else { return false }
        guard let pending = session.pending else { return true }
        session.goal = max(goal, pending.end)
        return false
    }
}
