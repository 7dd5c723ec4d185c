/// How an order was opened. `RowID` names a row, as in ``OrderChange``.
public enum OrderOutcome<RowID: Hashable & Sendable>: Equatable, Sendable {
    // The case with a change is indirect: a change is large, and copying a large generic value makes the metadata of
    // its type in each process.

    /// The order in the cache, or in the controller, was current.
    case hit
    /// The rows of the cache or of the controller were behind, or the cache's exact reader hadn't received earlier
    /// changes. The change leads from the former rows to the current ones.
    indirect case caughtUp(OrderChange<RowID>)
    /// The cache was behind, and its change isn't given, because it wasn't asked for or isn't known yet.
    case pending
    /// The order was built from the records, or its change is unknown because of damage.
    case rebuilt(RebuildReason)
    /// The order was computed in memory, and isn't stored in a cache.
    case computed

    /// Makes the outcome of catching up a cache: a hit if its order didn't change.
    init(of change: OrderChange<RowID>) { self = change.isEmpty ? .hit : .caughtUp(change) }
}

extension OrderOutcome: CustomStringConvertible {
    /// One of: hit; caught up (row insert #5 → 0:3); caught up; rebuilt (first); computed.
    public var description: String {
        switch self {
        case .hit: "hit"
        case .caughtUp(let change): "caught up (\(change))"
        case .pending: "caught up"
        case .rebuilt(let reason): "rebuilt (\(reason.rawValue))"
        case .computed: "computed"
        }
    }
}
