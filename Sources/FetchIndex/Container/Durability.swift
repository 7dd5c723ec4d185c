internal import FetchIndexRecords
internal import FetchIndexLMDB

/// How much of a commit is on disk when the commit returns. This concerns power losses and crashes of the system only:
/// a process that crashes or is killed doesn't lose a commit, whatever the durability.
///
/// The first opening of a store in a process determines the durability. All guarantees assume a disk that reports only
/// written data as written.
public enum Durability: Sendable {
    /// The whole commit is on disk. A power loss doesn't undo it. A commit waits for the disk twice.
    case full
    /// All pages are on disk except the one that makes the commit the newest. A power loss may undo the last
    /// transaction, but no earlier one, because each commit completes the previous one on disk. A transaction is undone
    /// as a whole. A commit waits for the disk once. Builds and catch-ups of caches are transactions too, and so is the
    /// opening of a store with a new model.
    case relaxed
    /// A commit needn't be on disk, and pages are written in any order: a power loss may damage the store or make it
    /// unreadable. Use it for benchmarks, and for stores that can be recreated. A commit doesn't wait.
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
