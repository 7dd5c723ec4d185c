internal import FetchIndexModels
internal import FetchIndexValues

/// Rows whose foreign keys name rows that are not there: a source that replicates itself may have these later, or never.
package final class WaitingRows {
    /// A row by its key.
    struct Name: Hashable {
        let entity: Int
        let key: Value
    }

    private var waiting: [Name: Set<RecordKey>] = [:]

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    func add(_ object: RecordKey, for name: Name) { waiting[name, default: []].insert(object) }

    /// The objects that waited for a row. O(1).
    func take(for name: Name) -> Set<RecordKey> { waiting.isEmpty ? [] : waiting.removeValue(forKey: name) ?? [] }
}
