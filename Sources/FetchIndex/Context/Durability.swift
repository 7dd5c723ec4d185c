internal import LMDB

/// How much of a commit has reached the disk when it returns.
public enum Durability: Sendable {
    /// All of it.
    case full
    /// A power loss may undo the last commits, and never tears one.
    case relaxed
    /// What the operating system chose to write: for benchmarks and stores that can be made again.
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
