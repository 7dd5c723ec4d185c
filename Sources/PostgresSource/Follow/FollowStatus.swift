internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexEssentials

/// Writes a follower's progress for `info`: a changed state immediately, the same state at most once a second. It
/// belongs to the follower's thread.
struct FollowStatus {
    private static let interval = Duration.seconds(1)
    /// The time in which a source sends a new part of its log, if nothing keeps it from that.
    private static let usualDelay = Duration.seconds(5)

    /// The position up to which the source has sent its log. It is kept after the connection is lost.
    var sent: LogPosition? { didSet { if sent != oldValue { lastSent = .now } } }
    /// When the source last sent a new part of its log.
    private var lastSent = ContinuousClock.now
    /// The end of the source's log, as the source told it, and when. It stays until the source has sent all before it.
    private var end: (position: LogPosition, told: ContinuousClock.Instant)?
    /// Whether `takeStall` has told that the source sends nothing. It is told again after the source has sent something.
    private var hasToldStall = false
    /// When the source was last heard from, in seconds since 1970. It is kept after the connection is lost.
    var heard: Double?
    /// Whether the change table has changes that couldn't be read yet.
    var isBehind = false
    /// When the store last had everything that the source had sent, in seconds since 1970.
    private var lastCurrent: Double?
    private let container: PersistentContainer
    /// The time of the last write: the same state is written at most once a second.
    private var lastWritten: ContinuousClock.Instant?
    /// The state that was last written.
    private var lastState: SourceStatus.State?
    /// When the source was last asked about the slot and its log, which is done three times in `stallSeconds`.
    private var lastAsked: ContinuousClock.Instant?
    /// The source's last answer: the slot's state, and the number of bytes of the log that the source retains for it.
    private var slot: (state: String?, retained: Int?) = (nil, nil)
    private let stallTime: Duration

    init(of container: PersistentContainer, _ options: FollowOptions) {
        (self.container, stallTime) = (container, .seconds(options.stallSeconds))
    }

    /// The time in which the source has sent nothing, although its log had more; zero if it has sent all that its log had.
    private var stall: Duration {
        guard let end, let sent, sent < end.position else { return .zero }
        return .now - max(end.told, lastSent)
    }

    /// Returns a sentence if the source has sent nothing for long, although its log had more. Returns it once.
    mutating func takeStall() -> String? {
        guard let end, let sent, stall > stallTime else {
            hasToldStall = hasToldStall && stall > .zero
            return nil
        }
        defer { hasToldStall = true }
        if hasToldStall { return nil }
        let seconds = Int(stall / .seconds(1))
        return "the source has sent nothing for \(seconds) s, though its log goes on from \(sent) to \(end.position): "
            + "it may be reading a long transaction, or wait for a standby (synchronized_standby_slots)"
    }

    mutating func write(_ state: SourceStatus.State, _ follower: Follower, reason: String? = nil) {
        let now = ContinuousClock.now
        if state == lastState, let lastWritten, now - lastWritten < Self.interval { return }
        // The source isn't asked while a table is copied, because another thread may use the connection.
        if state == .streaming, follower.source.way == .stream { askForSlot(follower, now) }
        var status = SourceStatus(
            time: Date().timeIntervalSince1970, process: Int(getpid()), state: state, heard: heard)
        if let sent, let reached = follower.reached {
            status.lagBytes = Int(clamping: sent.rawValue - min(sent.rawValue, reached.rawValue))
        }
        if follower.source.way == .changeTable {
            // Unless `isBehind`, the store has all changes that the change table had when it was last read.
            status.lagSeconds = state == .streaming && !isBehind ? 0 : nil
        } else if status.lagBytes == 0, stall < Self.usualDelay {
            status.lagSeconds = 0
            lastCurrent = status.time
        } else if let time = [follower.position?.time, lastCurrent].compactMap({ $0 }).max(), time > 0 {
            status.lagSeconds = max(0, status.time - time)
            if let end, let reached = follower.reached, reached < end.position {
                status.lagBytes = Int(clamping: end.position.rawValue - reached.rawValue)
            }
        }
        (status.slotState, status.retainedBytes) = slot
        status.reason = reason
        container.setSourceStatus(status, named: follower.name)
        (lastWritten, lastState) = (now, state)
    }

    private mutating func askForSlot(_ follower: Follower, _ now: ContinuousClock.Instant) {
        if let lastAsked, now - lastAsked < stallTime / 3 { return }
        lastAsked = now
        let row = try? follower.connection.execute(
            """
            SELECT wal_status, pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn),
                pg_catalog.pg_current_wal_flush_lsn()
            FROM pg_catalog.pg_replication_slots WHERE slot_name = $1
            """, [follower.source.slot], columns: 3
        ).first
        slot = (row?[0], row?[1].flatMap { Int($0) })
        let hasSentAll = end.map { end in sent.map { $0 >= end.position } ?? false } ?? true
        if hasSentAll, let told = row?[2].flatMap({ LogPosition($0) }) { end = (told, now) }
    }
}
