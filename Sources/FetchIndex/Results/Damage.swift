extension Error {
    /// Whether a cache is to blame, so that a rebuild helps.
    package var isDamage: Bool { isTreeDamage || self is StaleOrder }
}
