/// Attributes that are unique together, and indexes.
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

    mutating func matchUniqueLists() {
        let wanted = given.uniqueAttributes.map { names in Set(names.compactMap { liveSlot(named: $0) }) }
        for (index, list) in uniqueLists.enumerated() where !list.isEmpty && !wanted.contains(Set(list)) {
            // A program that does not declare all of the attributes knows nothing of the list.
            let names = list.map { slots[$0].attribute.name }
            guard names.allSatisfy({ given.slot(of: $0) != nil }) else { continue }
            steps.append(step(.removeUniqueness(names), .pass, "its unique keys are deleted"))
            uniqueLists[index] = []
        }
        for (names, slots) in zip(given.uniqueAttributes, wanted)
        where !uniqueLists.contains(where: { Set($0) == slots }) {
            steps.append(step(.addUniqueness(names), .pass, "no two objects may have the same values of them"))
            uniqueLists.append(names.compactMap { liveSlot(named: $0) })
        }
    }

    // MARK: Indexes

    /// The keys of an index, by names of now; nil when an attribute is missing.
    private func keys(of index: Index) -> [IndexKey]? {
        let keys = index.keys.compactMap { key in
            liveSlot(named: key.attribute).map { IndexKey(slot: $0, isDescending: key.isDescending) }
        }
        return keys.count == index.keys.count ? keys : nil
    }

    private func index(of keys: [IndexKey]) -> Index {
        Index(keys: keys.map { Index.Key(slots[$0.slot].attribute.name, isDescending: $0.isDescending) })
    }

    mutating func removeIndex(_ keys: [IndexKey]) {
        steps.append(step(.removeIndex(index(of: keys)), .free, "no record is read"))
        indexKeys.removeAll { $0 == keys }
    }

    mutating func matchIndexes() {
        for removed in given.removedIndexes.compactMap({ keys(of: $0) }) where indexKeys.contains(removed) {
            removeIndex(removed)
        }
        for wanted in given.indexes.compactMap({ keys(of: $0) }) where !indexKeys.contains(wanted) {
            steps.append(step(.addIndex(index(of: wanted)), .pass, "its order is built from all records"))
            indexKeys.append(wanted)
        }
    }
}
