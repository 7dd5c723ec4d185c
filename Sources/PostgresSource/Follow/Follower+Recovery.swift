internal import FetchIndex
internal import FetchIndexCLibrary

/// Decides how a follower continues after an error.
package struct Recovery {
    package static let firstPause = 1.0
    private static let longestPause = 5.0

    /// Whether the next attempt copies all tables again.
    package var copiesAgain: Bool
    /// Seconds to wait before the next attempt to connect.
    package var pause = Self.firstPause
    /// Whether changes may have been lost earlier. If that happens again before the store is consistent, each further
    /// copy may be in vain.
    private var wasLost = false

    package init(copiesAgain: Bool) { self.copiesAgain = copiesAgain }

    /// Makes the next attempt copy all tables again, because changes may be lost. Returns false, and does nothing, if
    /// another copy probably wouldn't help.
    package mutating func copyAgain(isConsistent: Bool) -> Bool {
        if copiesAgain || wasLost && !isConsistent { return false }
        (copiesAgain, wasLost) = (true, true)
        return true
    }

    package mutating func lengthenPause() { pause = min(2 * pause, Self.longestPause) }

    /// Waits `pause` seconds, and lengthens the pause for the next time. Throws `Interrupted`.
    mutating func wait(_ isInterrupted: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(pause)
        while ContinuousClock.now < end {
            if isInterrupted() { throw Interrupted() }
            usleep(50_000)
        }
        lengthenPause()
    }

    /// Connects to a followed source. While it can't be reached, warns, waits and tries again. Throws `SourceError` if
    /// the source can't be followed, and `Interrupted`.
    mutating func connect(
        to source: FollowedSource, _ isInterrupted: () -> Bool, warn: (SourceError, Recovery) -> Void
    ) throws -> Connection {
        let identifier = copiesAgain ? nil : source.systemIdentifier
        return try connect(to: source.address, isInterrupted, warn: warn) { connection in
            // One of several hosts in an address may be another server, so each connection is checked.
            try FollowPreparation.checkServer(connection, source.address, source.way, is: identifier)
        }
    }

    /// Connects to an address. While that fails, or `check` loses the connection, warns, waits and tries again. Throws
    /// `Interrupted`, and other errors of `check`.
    mutating func connect(
        to address: String, _ isInterrupted: () -> Bool, warn: (SourceError, Recovery) -> Void,
        check: (Connection) throws -> Void = { _ in }
    ) throws -> Connection {
        while true {
            do {
                let connection = try Connection(address)
                try check(connection)
                return connection
            } catch let error as SourceError where error.kind == .connection {
                warn(error, self)
                try wait(isInterrupted)
            }
        }
    }

    /// Returns the warning for a lost or failed connection.
    func warning(of error: SourceError) -> FollowEvent {
        .warning("\(error); trying again in \(Int(pause)) s")
    }
}

extension Follower {
    /// Prepares the next attempt if `error` is one that a follower can recover from; otherwise throws it.
    func recover(from error: SourceError, _ recovery: inout Recovery) throws {
        if error.kind == .lost, options.recopiesWhenLost, recovery.copyAgain(isConsistent: source.isConsistent) {
            tell(.warning(error.reason))
            tell(.warning("changes may be lost: all tables are copied again"))
        } else if error.kind == .connection || error.code == Connection.slotInUse {
            tell(recovery.warning(of: error))
            status.write(.disconnected, self, reason: error.description)
            try recovery.wait(isInterrupted)
            connection = try recovery.connect(to: source, isInterrupted) { tell($1.warning(of: $0)) }
        } else {
            throw error
        }
    }
}
