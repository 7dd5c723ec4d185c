/// How much of a commit is on disk when the commit returns. This concerns power losses and crashes of the system only:
/// a process that crashes or is killed doesn't lose a commit, whatever the durability.
///
/// While a process has a store open, the durability of its first opening applies. All guarantees assume a disk that
/// reports only written data as written.
public enum Durability: Sendable {
    /// The whole commit is on disk. A power loss doesn't undo it. A commit waits for the disk twice.
    case full
    /// Everything is on disk except the page that makes the commit the newest. A power loss may undo the last
    /// transaction, and only the last, because each commit puts the previous one on disk. It never undoes a part of a
    /// transaction. A commit waits for the disk once.
    case relaxed
    /// A commit needn't be on disk, and pages are written in any order: a power loss may damage the store or make it
    /// unreadable. Use it for benchmarks, and for stores that can be recreated. A commit doesn't wait for a sync.
    case none
}
