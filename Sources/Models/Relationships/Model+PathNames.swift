extension Model {
    /// Converts a dotted path of permanent names to current names. Returns nil if the path doesn't begin with a
    /// relationship of the entity.
    package func currentName(ofPath name: String, from entity: Entity) -> String? {
        let names = name.pathNames
        var current: [String] = []
        var entity = entity
        for (index, part) in names.enumerated() {
            if part.hasPrefix("@"), index > 0, index < names.count - 1 {
                let rest = names[(index + 1)...].joined(separator: ".")
                return (current + [part, self.currentName(of: rest, in: entity)]).joined(separator: ".")
            }
            guard
                let relationship = entity.storedRelationships.first(where: { !$0.isRemoved && $0.permanentName == part }
                ),
                let destination = self.entity(named: relationship.description.destination)
            else {
                if index == 0 { return nil }
                let rest = names[index...].joined(separator: ".")
                return (current + [currentName(of: rest, in: entity)]).joined(separator: ".")
            }
            current.append(relationship.description.name)
            entity = destination
        }
        return current.joined(separator: ".")
    }

    private func currentName(of permanent: String, in entity: Entity) -> String {
        let slot = entity.attributeSlots.first { entity.slots[$0].permanentName == permanent }
        return slot.map { entity.attribute(at: $0).name } ?? permanent
    }
}

extension StoredRelationship {
    package var isRenamed: Bool { description.name != permanentName }
}

extension String {
    /// The parts of a key path between its dots.
    package var pathNames: [String] { split(separator: ".", omittingEmptySubsequences: false).map(String.init) }
}
