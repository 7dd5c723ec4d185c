internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexEssentials

/// Writes a follower's progress for `info`: a changed state immediately, the same state at most once a second. It
/// belongs to the follower's thread.
struct FollowStatus {
    private static let interval = Duration.seconds(1)
    private static let slotInterval = Duration.seconds(10)

    /// The position up to which the source has sent its log. It is kept after the connection is lost.
    var sent: LogPosition?
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
    /// When the source was last asked about the slot, which is done at most every ten seconds.
    private var lastAsked: ContinuousClock.Instant?
    /// The source's last answer: the slot's state, and the number of bytes of the log that the source retains for it.
    private var slot: (state: String?, retained: Int?) = (nil, nil)

    init(of container: PersistentContainer) { self.container = container }

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
        } else if status.lagBytes == 0 {
            status.lagSeconds = 0
            lastCurrent = status.time
        } else if let time = [follower.position?.time, lastCurrent].compactMap({ $0 }).max(), time > 0 {
            status.lagSeconds = max(0, status.time - time)
        }
        (status.slotState, status.retainedBytes) = slot
        status.reason = reason
        container.setSourceStatus(status)
        (lastWritten, lastState) = (now, state)
    }

    private mutating func askForSlot(_ follower: Follower, _ now: ContinuousClock.Instant) {
        if let lastAsked, now - lastAsked < Self.slotInterval { return }
        lastAsked = now
        let row = try? follower.connection.execute(
            """
            SELECT wal_status, pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn)
            FROM pg_catalog.pg_replication_slots WHERE slot_name = $1
            """, [follower.source.slot], columns: 2
        ).first
        slot = (row?[0], row?[1].flatMap { Int($0) })
    }
}
