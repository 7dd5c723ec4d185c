internal import FetchIndexRecords
internal import FetchIndexLMDB

/// How much of a commit has reached the disk when it returns. A process that crashes or is killed loses nothing that it
/// committed, whatever the durability; this is about power losses and crashes of the system.
///
/// The first opening of a store in a process decides. All of this holds for disks that have written what they report as
/// written.
public enum Durability: Sendable {
    /// All of it: no power loss undoes a commit. A commit waits for the disk twice.
    case full
    /// All but the page that makes it the newest. A power loss may undo the last transaction, and only the last: each commit
    /// puts the one before it on disk. No transaction is ever torn. A commit waits for the disk once. Builds and catch-ups of
    /// caches are transactions too, and so is the opening of a store with a new model.
    case relaxed
    /// A commit waits for nothing, and pages reach the disk in any order: after a power loss the store may be damaged or
    /// unreadable. For benchmarks, and for stores that can be made again.
    case none
}

extension Store.Options {
    mutating func setDurability(_ durability: Durability) {
        switch durability {
        case .full: self.durability = .full
        case .relaxed: self.durability = .relaxed
        case .none: self.durability = .none
        }
    }
}
