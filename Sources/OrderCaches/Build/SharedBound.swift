internal import Synchronization

/// The least of the threads' bounds. A bound is a key beyond which no rows are needed, because a thread has found
/// enough before it.
final class SharedBound: Sendable {
    private let bound = Mutex<[UInt8]>([])

    /// The least bound, including the thread's own; empty if no thread has one yet.
    func least(with own: [UInt8]) -> [UInt8] {
        bound.withLock { bound in
            if !own.isEmpty, bound.isEmpty || own.lexicographicallyPrecedes(bound) { bound = own }
            return bound
        }
    }
}
