extension Model {
    /// The present form of a dotted path that has the names which its parts had first; nil for what is no path from an entity.
    package func currentName(ofPath name: String, from entity: Entity) -> String? {
        let names = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var current: [String] = []
        var entity = entity
        for (index, part) in names.enumerated() {
            guard
                let relationship = entity.storedRelationships.first(where: { !$0.isRemoved && $0.permanentName == part }
                ),
                let destination = self.entity(named: relationship.description.destination)
            else {
                if index == 0 { return nil }
                let rest = names[index...].joined(separator: ".")
                let slot = entity.attributeSlots.first { entity.slots[$0].permanentName == rest }
                return (current + [slot.map { entity.attribute(at: $0).name } ?? rest]).joined(separator: ".")
            }
            current.append(relationship.description.name)
            entity = destination
        }
        return current.joined(separator: ".")
    }
}

extension StoredRelationship {
    package var isRenamed: Bool { description.name != permanentName }
}
