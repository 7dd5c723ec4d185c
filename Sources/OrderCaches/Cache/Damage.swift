internal import CountedTree

extension Error {
    /// Whether the bytes of a cache are to blame, so that a rebuild helps.
    package var isTreeDamage: Bool { self is TreeError }
}
