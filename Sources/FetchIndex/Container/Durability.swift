internal import Records
internal import LMDB

/// How much of a commit has reached the disk when it returns. A process that crashes or is killed loses nothing that it
/// committed, whatever the durability; this is about power losses and crashes of the system.
///
/// It is chosen by the first who opens a store in a process. What is said here holds for disks that have written what
/// they say they have.
public enum Durability: Sendable {
    /// All of it: no power loss takes back what was committed. A commit waits for the disk twice.
    case full
    /// All but the page that makes it the newest. A power loss may take back the last transaction, and only that: each
    /// puts the one before it on disk. None is ever torn. A commit waits for the disk once. Building a cache and catching
    /// it up are transactions, too, and so is opening a store of a new model.
    case relaxed
    /// Nothing is waited for, and pages reach the disk in any order: a power loss may leave a store that is damaged or
    /// cannot be opened. For benchmarks, and stores that can be made again.
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
