internal import FetchIndexModels
internal import FetchIndexRecords

//     undecided -> deferring    the entity has no objects, and the first batch is not in the order of its keys
//               -> inOrder      the entity has no objects, and the first batch is in the order of its keys
//     inOrder -> scattered      the new keys of a batch went to many pages, few to each
//     scattered -> deferring    with the next batch
//     deferring -> inOrder      the keys, and then the repeated records, are written, by `commit` or because the keys
//                               are many; or the transaction is rolled back
//     any state -> never        the entity had objects at first, its keys cannot be deferred, a record lacks a required
//                               value, many records have repeated keys, another writer wrote the keys between two
//                               batches, or rows with related objects or object numbers arrive

/// Whether a batch writer defers unique keys: it leaves them out while a first import writes records, and writes them
/// later in sorted order.
///
/// Keys that arrive in ascending order are written with their records, because they fill their pages one after another
/// anyway. One form for all first imports would defer such keys too, which costs hashes to recognise repeated keys, and a
/// scan for the keys at the end: an import of a million rows in order took 1.3 s of processor time instead of 1.0 s.
enum KeyDeferral {
    case never
    case undecided
    case inOrder
    case scattered
    case deferring(DeferredKeys)
}

/// The state of a writer that defers unique keys: hashes of the deferred keys, and the records with repeated keys.
final class DeferredKeys {
    var seen: SeenKeys
    /// The records whose unique key an object had when the deferral began, or whose key, or another key with the same
    /// hash, was deferred before. They are written after the deferred keys.
    var repeated = RecordBatch()
    /// The slots whose stored values the repeated records keep.
    var kept: Set<Int> = []
    /// The object number that the next inserted record gets, unless another writer inserts objects.
    var next: UInt64
    /// Whether the entity had objects when the deferral began. If so, each record's key is looked up among the stored
    /// keys.
    let hasKeyed: Bool

    private static let mostRepeated = 50_000
    private static let mostBytes = 32 << 20

    /// A batch that reaches `atMost` deferred keys ends the deferral.
    init(after state: EntityState, atMost most: Int) {
        seen = SeenKeys(most: most)
        next = state.nextObject
        hasKeyed = state.count > 0
    }

    var hasManyRepeated: Bool { repeated.count >= Self.mostRepeated || repeated.byteCount >= Self.mostBytes }
}
