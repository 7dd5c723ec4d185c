internal import Synchronization

/// The least bound that several threads have found while they look for the first rows. A thread that has found enough
/// rows sets a bound: rows with greater keys aren't wanted.
final class SharedBound: Sendable {
    private let bound = Mutex<[UInt8]>([])

    /// Lowers the shared bound to `own` if that is less, and returns the bound; empty if no thread has set one.
    func least(with own: [UInt8]) -> [UInt8] {
        bound.withLock { bound in
            if !own.isEmpty, bound.isEmpty || own.lexicographicallyPrecedes(bound) { bound = own }
            return bound
        }
    }
}
