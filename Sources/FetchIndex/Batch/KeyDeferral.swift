internal import FetchIndexModels
internal import FetchIndexRecords

//     undecided -> deferring    the entity has no objects, and the first batch is not in the order of its keys
//               -> inOrder      the entity has no objects, and the first batch is in the order of its keys
//     inOrder <-> scattered     new keys of a batch went to many pages, few to each
//     scattered -> deferring    with the next batch
//     deferring -> inOrder      the keys, and then the repeated records, are written: at a commit, or because they are many
//     any state -> never        the keys cannot be deferred, or another writer came between two batches

/// Whether a writer of batches defers unique keys: leaves them out, and writes them at the end of a first import, in their
/// order.
///
/// Keys that come in their order are written with their records. They fill their pages one after the other anyway, and
/// deferring them costs more: hashes that tell repeated keys, and a scan for the keys at the end. An import of a million
/// rows in order took 1.0 s of processor time, and 1.3 s with deferred keys.
enum KeyDeferral {
    case never
    case undecided
    case inOrder
    case scattered
    case deferring(DeferredKeys)
}

/// What is known of the records whose unique keys are deferred.
final class DeferredKeys {
    var seen: SeenKeys
    /// Records whose unique values, or their hashes, were seen before: they are written when the keys are.
    var repeated = RecordBatch()
    /// The slots whose stored values these keep.
    var kept: Set<Int> = []
    /// The number of the next object.
    var next: UInt64
    /// Whether there are objects with unique keys, which are looked up.
    let hasKeyed: Bool

    private static let mostRepeated = 50_000
    private static let mostBytes = 32 << 20

    /// `atMost` is how many keys may be deferred.
    init(after state: EntityState, atMost most: Int) {
        seen = SeenKeys(most: most)
        next = state.nextObject
        hasKeyed = state.count > 0
    }

    var hasManyRepeated: Bool { repeated.count >= Self.mostRepeated || repeated.byteCount >= Self.mostBytes }
}
