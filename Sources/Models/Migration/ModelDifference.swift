public import FetchIndexValues

/// The changes that lead from a store's model to another model.
///
/// Attributes are matched by name, or by `renamedFrom`. An attribute that only the store has stays, because other
/// programs may use it; it's removed if the entity lists it in ``Entity/removedAttributes``.
public struct ModelDifference: Hashable, Sendable {
    public enum Change: Hashable, Sendable {
        case addEntity
        case renameEntity(from: String)
        /// The entity is dropped, with its objects.
        case removeEntity
        case addAttribute(String, ValueType)
        case renameAttribute(from: String, to: String)
        case removeAttribute(String)
        case changeType(of: String, from: ValueType, to: ValueType)
        case makeOptional(String)
        case makeRequired(String)
        case addUniqueness([String])
        case removeUniqueness([String])
        /// `to` is nil if the attribute isn't derived any more.
        case changeDerivation(of: String, to: String?)
        case addIndex(Index)
        case removeIndex(Index)
        case changeAbstract(to: Bool)
        case addRelationship(String, to: String, isToMany: Bool)
        case renameRelationship(from: String, to: String)
        case removeRelationship(String)
        /// A change of the destination, or of the number of related objects on either side.
        case changeDestination(of: String, to: String, isToMany: Bool)
        /// A change of the delete rule, of the counts, or of whether the relationship is ordered.
        case changeRelationship(String)
        /// A named request of the entity is added or replaced.
        case setRequest(String)
        case removeRequest(String)
    }

    /// The cost of a change.
    public enum Verdict: String, Comparable, Sendable {
        /// No record needs to be rewritten, unless a closure is given.
        case free
        /// A pass over records or keys is needed, in one transaction.
        case pass
        /// Existing objects lack values that the model doesn't define. A closure can provide those of attributes.
        case decision

        public static func < (left: Verdict, right: Verdict) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .free: 0
            case .pass: 1
            case .decision: 2
            }
        }
    }

    public struct Step: Hashable, Sendable {
        public let entity: String
        public let change: Change
        public let verdict: Verdict
        /// The reason for the verdict.
        public let reason: String
    }

    /// The steps, grouped by entity.
    public internal(set) var steps: [Step] = []

    /// The verdict of the most expensive step; free if no step is needed.
    public var verdict: Verdict { steps.map(\.verdict).max() ?? .free }

    public var isEmpty: Bool { steps.isEmpty }
}

extension ModelDifference.Change: CustomStringConvertible {
    public var description: String {
        switch self {
        case .addEntity: "add the entity"
        case .renameEntity(let former): "rename \(former) to this name"
        case .removeEntity: "drop the entity"
        case .addAttribute(let name, let type): "add \(name): \(type.name)"
        case .renameAttribute(let from, let to): "rename \(from) to \(to)"
        case .removeAttribute(let name): "remove \(name)"
        case .changeType(let name, let from, let to): "change \(name) from \(from.name) to \(to.name)"
        case .makeOptional(let name): "make \(name) optional"
        case .makeRequired(let name): "make \(name) required"
        case .addUniqueness(let names): "make \(names.joined(separator: ", ")) unique"
        case .removeUniqueness(let names): "make \(names.joined(separator: ", ")) not unique"
        case .changeDerivation(let name, let derivation?): "derive \(name) by \(derivation)"
        case .changeDerivation(let name, nil): "derive \(name) no longer"
        case .addIndex(let index): "add the index \(index)"
        case .removeIndex(let index): "remove the index \(index)"
        case .addRelationship(let name, let destination, let isToMany):
            "add \(name): \(isToMany ? "many" : "one") of \(destination)"
        case .changeDestination(let name, let destination, let isToMany):
            "lead \(name) to \(isToMany ? "many" : "one") of \(destination)"
        case .renameRelationship(let from, let to): "rename \(from) to \(to)"
        case .removeRelationship(let name): "remove \(name)"
        case .changeRelationship(let name): "change the rules of \(name)"
        case .setRequest(let name): "set the request \(name)"
        case .removeRequest(let name): "remove the request \(name)"
        case .changeAbstract(to: true): "make it abstract"
        case .changeAbstract(to: false): "make it no longer abstract"
        }
    }
}

extension ModelDifference.Step: CustomStringConvertible {
    /// The step as text, such as "Book: add pages: integer (free: older records are read with null)".
    public var description: String { "\(entity): \(change) (\(verdict.rawValue): \(reason))" }
}
