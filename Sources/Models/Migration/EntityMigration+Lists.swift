/// The migration of unique constraints (each a list of the slots whose values together are unique) and of indexes.
extension EntityMigration {
    mutating func replaceInLists(_ slot: Int, by other: Int) {
        for index in uniqueLists.indices {
            uniqueLists[index] = uniqueLists[index].map { $0 == slot ? other : $0 }
        }
        for index in indexKeys.indices {
            for key in indexKeys[index].indices where indexKeys[index][key].slot == slot {
                indexKeys[index][key].slot = other
            }
        }
    }

    /// Removes the lists and indexes that a slot is part of.
    mutating func removeFromLists(_ slot: Int) {
        for keys in indexKeys where keys.contains(where: { $0.slot == slot }) { removeIndex(keys) }
        for index in uniqueLists.indices where uniqueLists[index].contains(slot) {
            if uniqueLists[index].count > 1 || slots[slot].role != .attribute {
                let names = uniqueLists[index].map { slots[$0].attribute.name }
                note(.removeUniqueness(names), .pass, "its unique keys are deleted")
            }
            uniqueLists[index] = []
        }
    }

    /// The slot of an attribute, or of a to-one relationship whose links are in the records; nil for other names.
    private func keySlot(_ name: String) -> Int? {
        if let slot = liveSlot(named: name) { return slot }
        guard case .reference(let slot, _) = liveRelationship(named: name).map({ relationships[$0].storage }) else {
            return nil
        }
        return slot
    }

    private func requireKeySlot(_ name: String) throws -> Int {
        if let slot = keySlot(name) { return slot }
        throw ModelError.invalid(
            "\(given.name).\(name) cannot be unique or have an index: in this store, its inverse holds the links")
    }

    private func isDeclared(_ name: String) -> Bool {
        given.slot(of: name) != nil || given.relationship(named: name) != nil
    }

    mutating func matchUniqueLists() throws {
        let wanted = try given.uniqueAttributes.map { names in Set(try names.map(requireKeySlot)) }
        for (index, list) in uniqueLists.enumerated() where !list.isEmpty && !wanted.contains(Set(list)) {
            // A program that declares only some attributes of a list may not know the list, so it doesn't remove it.
            let names = list.map { slots[$0].attribute.name }
            guard names.allSatisfy(isDeclared) else { continue }
            note(.removeUniqueness(names), .pass, "its unique keys are deleted")
            uniqueLists[index] = []
        }
        for (names, slots) in zip(given.uniqueAttributes, wanted)
        where !uniqueLists.contains(where: { Set($0) == slots }) {
            note(.addUniqueness(names), .pass, "no two objects may have the same values, unless one is null")
            uniqueLists.append(try names.map(requireKeySlot))
        }
    }

    // MARK: Indexes

    /// The keys of an index, by current names; nil if one of the names has no slot.
    private func keys(of index: Index) -> [IndexKey]? {
        let keys = index.keys.compactMap { key in
            keySlot(key.attribute).map { IndexKey(slot: $0, isDescending: key.isDescending) }
        }
        return keys.count == index.keys.count ? keys : nil
    }

    private func index(of keys: [IndexKey]) -> Index {
        Index(keys: keys.map { Index.Key(slots[$0.slot].attribute.name, isDescending: $0.isDescending) })
    }

    mutating func removeIndex(_ keys: [IndexKey]) {
        note(.removeIndex(index(of: keys)), .free, "no record is read")
        indexKeys.removeAll { $0 == keys }
    }

    mutating func matchIndexes() throws {
        for removed in given.removedIndexes.compactMap({ keys(of: $0) }) where indexKeys.contains(removed) {
            removeIndex(removed)
        }
        for declared in given.indexes {
            let wanted = try declared.keys.map {
                IndexKey(slot: try requireKeySlot($0.attribute), isDescending: $0.isDescending)
            }
            if indexKeys.contains(wanted) { continue }
            note(.addIndex(index(of: wanted)), .pass, "its order is built from all records")
            indexKeys.append(wanted)
        }
    }
}
