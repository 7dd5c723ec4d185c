/// The part of a commit that is on disk when the commit returns. Durability concerns power losses and crashes of the
/// system. A process that crashes or is killed loses no commit, whatever the durability.
///
/// The first opening of a store in a process decides. All of this assumes a disk that has written what it reports as
/// written.
public enum Durability: Sendable {
    /// Everything is on disk: a power loss undoes no commit. A commit waits for the disk twice.
    case full
    /// Everything is on disk except the page that makes the commit the newest. A power loss may undo the last
    /// transaction, and only the last, because each commit puts the previous one on disk. No transaction is ever torn.
    /// A commit waits for the disk once.
    case relaxed
    /// Nothing need be on disk, and pages reach it in any order: after a power loss the store may be damaged or
    /// unreadable. Use it for benchmarks, and for stores that can be made again. A commit doesn't wait.
    case none
}
