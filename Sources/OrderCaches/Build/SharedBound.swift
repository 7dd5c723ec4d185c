internal import Synchronization

/// The least of the bounds that several threads find while they look for the first rows. A thread that has found enough
/// rows has a bound: rows with greater keys aren't wanted.
final class SharedBound: Sendable {
    private let bound = Mutex<[UInt8]>([])

    /// Lowers the shared bound to `own` if that is less, and returns the shared bound; empty if no thread has found
    /// one.
    func least(with own: [UInt8]) -> [UInt8] {
        bound.withLock { bound in
            if !own.isEmpty, bound.isEmpty || own.lexicographicallyPrecedes(bound) { bound = own }
            return bound
        }
    }
}
