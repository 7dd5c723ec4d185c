package import FetchIndexModels

/// A relationship in the JSON of a model.
package struct RelationshipFile: Codable {
    let name: String
    let destination: String
    var inverse: String?
    var isToMany: Bool?
    var isOrdered: Bool?
    var isOptional: Bool?
    /// The delete rule: nullify, cascade, deny or noAction; nullify by default.
    var deleteRule: String?
    var minCount: Int?
    var maxCount: Int?
    var renamedFrom: String?

    init(_ relationship: RelationshipDescription) {
        name = relationship.name
        destination = relationship.destination
        inverse = relationship.inverse
        isToMany = relationship.isToMany
        isOrdered = relationship.isOrdered ? true : nil
        isOptional = relationship.isToMany ? nil : relationship.isOptional
        deleteRule = "\(relationship.deleteRule)"
        minCount = relationship.minCount > 0 ? relationship.minCount : nil
        maxCount = relationship.maxCount > 0 ? relationship.maxCount : nil
        renamedFrom = relationship.renamedFrom
    }

    /// Returns the relationship. If the delete rule is unknown, or if a to-many relationship has no inverse, throws an
    /// error of one sentence that names the file at `path`.
    func relationship(of entity: String, _ path: String) throws -> RelationshipDescription {
        let rules: [String: DeleteRule] = [
            "nullify": .nullify, "cascade": .cascade, "deny": .deny, "noAction": .noAction,
        ]
        guard let rule = rules[deleteRule ?? "nullify"] else {
            throw MalformedModel(
                "\(path): \(entity).\(name) has the delete rule \"\(deleteRule ?? "")\", which is not one of "
                    + rules.keys.sorted().joined(separator: ", "))
        }
        if isToMany ?? false {
            guard let inverse else {
                throw MalformedModel("\(path): \(entity).\(name) leads to many objects, so it needs an inverse")
            }
            return RelationshipDescription(
                name, toMany: destination, inverse: inverse, ordered: isOrdered ?? false, deleteRule: rule,
                minCount: minCount ?? 0, maxCount: maxCount ?? 0, renamedFrom: renamedFrom)
        }
        return RelationshipDescription(
            name, toOne: destination, inverse: inverse, isOptional: isOptional ?? true, deleteRule: rule,
            renamedFrom: renamedFrom)
    }
}

extension RelationshipDescription {
    /// The relationship as text, such as "author: one of Author, required, inverse books, delete rule nullify".
    package var sentence: String {
        var parts = ["\(name): \(isToMany ? "many" : "one") of \(destination)"]
        if !isOptional { parts.append("required") }
        if isOrdered { parts.append("ordered") }
        if minCount > 0 { parts.append("at least \(minCount)") }
        if maxCount > 0 { parts.append("at most \(maxCount)") }
        if let inverse { parts.append("inverse \(inverse)") }
        parts.append("delete rule \(deleteRule)")
        return parts.joined(separator: ", ")
    }
}
