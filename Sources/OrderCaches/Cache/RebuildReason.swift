/// Why a cache's order was, or must be, built from the records.
public enum RebuildReason: String, Hashable, Sendable {
    /// No cache had the name.
    case first
    case predicateChanged
    case sortChanged
    case sectionKeyChanged
    case aggregatesChanged
    case modelChanged
    /// Data or rules that the order depends on (of ICU, of time zones or of FetchIndex) have another version; or the
    /// predicate uses `entity`, and an entity was added, renamed or removed.
    case collationChanged
    /// The cache was written in another format.
    case formatChanged
    /// The change log doesn't have the needed changes, or they can't be read.
    case logTooShort
    /// Catching up would probably cost more than a rebuild.
    case tooManyChanges
    /// The cache's bytes or the store's notes about caches are damaged, or catching up found damage in the log or in
    /// records.
    case damaged
    /// A rebuild was requested, or a later version of FetchIndex noted a reason that this version doesn't know.
    case requested
}
