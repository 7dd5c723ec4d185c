internal import FetchIndex
internal import FetchIndexCLibrary

/// How a follower goes on after an error.
package struct Recovery {
    package static let firstPause = 1.0
    private static let longestPause = 5.0

    /// Whether the next attempt copies all tables again.
    package var copiesAgain: Bool
    /// Seconds before the next connection.
    package var pause = Self.firstPause
    /// Whether changes were lost before. If they are lost again before the store is consistent, each further copy would be
    /// in vain.
    private var wasLost = false

    package init(copiesAgain: Bool) { self.copiesAgain = copiesAgain }

    /// Notes that changes are lost. Returns false if copying again wouldn't help.
    package mutating func copyAgain(isConsistent: Bool) -> Bool {
        if copiesAgain || wasLost && !isConsistent { return false }
        (copiesAgain, wasLost) = (true, true)
        return true
    }

    package mutating func lengthenPause() { pause = min(2 * pause, Self.longestPause) }
}

extension Follower {
    /// The code of a slot that is in use: the server hasn't noticed yet that the last connection is gone.
    private static let slotInUse = "55006"

    /// Prepares the next attempt after an error that can be recovered from; throws any other one.
    func recover(from error: SourceError, _ recovery: inout Recovery) throws {
        if error.kind == .lost, options.recopiesWhenLost, recovery.copyAgain(isConsistent: source.isConsistent) {
            tell(.warning(error.reason))
            tell(.warning("changes are lost: all tables are copied again"))
        } else if error.kind == .connection || error.code == Self.slotInUse {
            warn(of: error, recovery)
            status.write(.disconnected, self, reason: error.description)
            try reconnect(&recovery)
        } else {
            throw error
        }
    }

    private func reconnect(_ recovery: inout Recovery) throws {
        while true {
            try wait(seconds: recovery.pause)
            recovery.lengthenPause()
            do {
                connection = try Connection(source.address)
                // One of several hosts in an address may be another server.
                let server = recovery.copiesAgain ? nil : source.systemIdentifier
                try FollowPreparation.checkServer(connection, source.address, source.way, is: server)
                return
            } catch let error as SourceError where error.kind == .connection {
                warn(of: error, recovery)
            }
        }
    }

    private func warn(of error: SourceError, _ recovery: Recovery) {
        tell(.warning("\(error); trying again in \(Int(recovery.pause)) s"))
    }

    private func wait(seconds: Double) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            try requireNotInterrupted()
            usleep(50_000)
        }
    }
}
