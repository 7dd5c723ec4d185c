internal import FetchIndex

/// Changes of a transaction that wait for its end, because another object has one of their unique values. If
/// a change of an object waits, its later changes wait too, so that they are made in order.
struct WaitingChanges {
    typealias Line = (change: ChangeLine, number: Int)

    /// The updates of each object, in the order of their lines; without lines if the object was deleted.
    private var all: [(object: ObjectID, lines: [Line])] = []
    private(set) var insertions: [Line] = []
    /// The indexes of objects in `all`.
    private var indexes: [ObjectID: Int] = [:]

    var isEmpty: Bool { indexes.isEmpty && insertions.isEmpty }
    var updates: [(object: ObjectID, lines: [Line])] { all.filter { !$0.lines.isEmpty } }

    /// Adds the update of an object, or an insertion if it is nil.
    mutating func add(_ change: ChangeLine, _ number: Int, of object: ObjectID?) {
        guard let object else { return insertions.append((change, number)) }
        indexes[object] = all.count
        all.append((object, [(change, number)]))
    }

    /// Adds the update of an object if another update of it waits. Returns whether it does.
    mutating func add(_ change: ChangeLine, _ number: Int, ifWaiting object: ObjectID) -> Bool {
        guard let index = indexes[object] else { return false }
        all[index].lines.append((change, number))
        return true
    }

    /// Removes the updates of an object that is deleted. O(1).
    mutating func remove(_ object: ObjectID) {
        if let index = indexes.removeValue(forKey: object) { all[index].lines = [] }
    }
}
