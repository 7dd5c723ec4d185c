internal import Synchronization

/// The least of the keys beyond which threads need no rows, each because of the rows that it has found.
final class SharedBound: Sendable {
    private let bound = Mutex<[UInt8]>([])

    /// Also of a thread's own one; empty: none has one yet.
    func least(with own: [UInt8]) -> [UInt8] {
        bound.withLock { bound in
            if !own.isEmpty, bound.isEmpty || own.lexicographicallyPrecedes(bound) { bound = own }
            return bound
        }
    }
}
