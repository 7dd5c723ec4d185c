internal import FetchIndexModels
internal import FetchIndexRecords

//     undecided -> deferring    the entity has no objects, and the first batch is not in the order of its keys
//               -> inOrder      the entity has no objects, and the first batch is in the order of its keys
//     inOrder <-> scattered     new keys of a batch went to many pages, few to each
//     scattered -> deferring    with the next batch
//     deferring -> inOrder      the keys, and then the repeated records, are written: at a commit, or because they are many
//     any state -> never        the keys cannot be deferred, or another writer came between two batches

/// Whether a batch writer defers unique keys: it leaves them out during a first import, and writes them in sorted order
/// at its end.
///
/// Keys that arrive in ascending order are written with their records. They fill their pages one after another anyway,
/// and deferring them costs more: hashes to recognise repeated keys, and a scan for the keys at the end. An import of a
/// million rows in order took 1.0 s of processor time, and 1.3 s with deferred keys.
enum KeyDeferral {
    case never
    case undecided
    case inOrder
    case scattered
    case deferring(DeferredKeys)
}

/// The state of a deferral: hashes of the deferred keys, and the records with repeated keys.
final class DeferredKeys {
    var seen: SeenKeys
    /// Records whose unique values, or hashes of these, were seen before. They are written after the deferred keys.
    var repeated = RecordBatch()
    /// The slots whose stored values the repeated records keep.
    var kept: Set<Int> = []
    /// The number of the next object.
    var next: UInt64
    /// Whether the entity had objects with unique keys before; the keys of new records are looked up among these.
    let hasKeyed: Bool

    private static let mostRepeated = 50_000
    private static let mostBytes = 32 << 20

    /// `atMost` is the maximum number of deferred keys.
    init(after state: EntityState, atMost most: Int) {
        seen = SeenKeys(most: most)
        next = state.nextObject
        hasKeyed = state.count > 0
    }

    var hasManyRepeated: Bool { repeated.count >= Self.mostRepeated || repeated.byteCount >= Self.mostBytes }
}
