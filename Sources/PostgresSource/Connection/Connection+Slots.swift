internal import FetchIndexCLibrary

extension Connection {
    /// The SQLSTATE code of the error that a slot is in use. The server may need a moment to notice that the slot's
    /// last reader has disconnected.
    static let slotInUse = "55006"

    /// The time, in seconds, for which dropping a slot that is in use is tried again.
    private static let longestWaitForSlot = 10

    /// Drops a replication slot if it exists. If the slot is in use, tries again for up to ten seconds. Throws
    /// `SourceError` if the slot stays in use or can't be dropped, and `Interrupted`.
    package func dropSlot(_ name: String, isInterrupted: () -> Bool = { false }) throws {
        let end = ContinuousClock.now + .seconds(Self.longestWaitForSlot)
        while true {
            do {
                try execute(
                    "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
                    [name])
                return
            } catch let error as SourceError where error.code == Self.slotInUse && ContinuousClock.now < end {
                if isInterrupted() { throw Interrupted() }
                usleep(50_000)
            }
        }
    }
}
