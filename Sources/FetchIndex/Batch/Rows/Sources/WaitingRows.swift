internal import FetchIndexModels
internal import FetchIndexValues

/// Objects whose foreign keys name missing rows. A source that is itself a replica may get the missing rows later, or
/// never.
///
/// Writers of several threads may share it: only the one that has the store's writer uses it.
package final class WaitingRows: @unchecked Sendable {
    /// The name of a row: its entity, the slots of a unique constraint, and the row's values in their order.
    struct Name: Hashable {
        let entity: Int
        let slots: [Int]
        let values: [Value]
    }

    private var waiting: [Name: Set<RecordKey>] = [:]

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    package func removeAll() { waiting = [:] }

    func add(_ object: RecordKey, for name: Name) { waiting[name, default: []].insert(object) }

    /// Removes and returns the objects that waited for a row. O(1).
    func take(for name: Name) -> Set<RecordKey> { waiting.isEmpty ? [] : waiting.removeValue(forKey: name) ?? [] }
}
