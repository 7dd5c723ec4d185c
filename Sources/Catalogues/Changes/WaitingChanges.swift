internal import FetchIndex

/// Changes of a transaction that wait for its end, because another object has one of their unique values. Later changes
/// of their objects wait too, so that they are made in order.
struct WaitingChanges {
    typealias Line = (change: ChangeLine, number: Int)

    /// The updates of each object, in the order of their lines.
    private(set) var updates: [(object: ObjectID, lines: [Line])] = []
    private(set) var insertions: [Line] = []
    /// The indexes of objects in `updates`.
    private var indexes: [ObjectID: Int] = [:]

    var isEmpty: Bool { updates.isEmpty && insertions.isEmpty }

    /// Adds the update of an object, or an insertion if it is nil.
    mutating func add(_ change: ChangeLine, _ number: Int, of object: ObjectID?) {
        guard let object else { return insertions.append((change, number)) }
        indexes[object] = updates.count
        updates.append((object, [(change, number)]))
    }

    /// Adds the update of an object if another update of it waits. Returns whether it does.
    mutating func add(_ change: ChangeLine, _ number: Int, ifWaiting object: ObjectID) -> Bool {
        guard let index = indexes[object] else { return false }
        updates[index].lines.append((change, number))
        return true
    }

    /// Removes the updates of an object that is deleted.
    mutating func remove(_ object: ObjectID) {
        guard let index = indexes.removeValue(forKey: object) else { return }
        updates.remove(at: index)
        for (other, place) in indexes where place > index { indexes[other] = place - 1 }
    }
}
