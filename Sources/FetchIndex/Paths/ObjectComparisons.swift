internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Rewrites a predicate so that it compares objects by their keys, as in `author == %@`, `SELF IN %@`, `ANY tags ==
/// SELF` and `$b.author != SELF.author`, and entities by their names, as in `entity == 'Book'` and
/// `author.entity.name`.
struct ObjectComparisons {
    private let number: Int
    private let model: Model
    /// An operand that can't be compared with an object, for the error message; nil if none was found.
    private var wrong: String?

    /// The number of the entity whose objects a variable contains, by the variable's name.
    private typealias Scope = [String: Int]

    private init(ofEntity number: Int, in model: Model) { (self.number, self.model) = (number, model) }

    /// Rewrites a predicate. Throws `FetchPredicateError.typeMismatch` if an object is compared with a value that is
    /// neither an object nor null, and for some comparisons of a to-many relationship with null.
    static func resolved(_ predicate: FetchPredicate, ofEntity number: Int, in model: Model) throws -> FetchPredicate {
        var comparisons = ObjectComparisons(ofEntity: number, in: model)
        let syntax = comparisons.predicate(predicate.syntax, [:])
        if let wrong = comparisons.wrong {
            throw FetchPredicateError.typeMismatch("an object is compared with \(wrong)")
        }
        return FetchPredicate(syntax)
    }

    private mutating func predicate(_ syntax: PredicateSyntax, _ scope: Scope) -> PredicateSyntax {
        switch syntax {
        case .constant: syntax
        case .not(let inner): .not(predicate(inner, scope))
        case .and(let parts): .and(parts.map { predicate($0, scope) })
        case .or(let parts): .or(parts.map { predicate($0, scope) })
        case .comparison(let comparison): .comparison(self.comparison(comparison, scope))
        }
    }

    private mutating func comparison(_ comparison: Comparison, _ scope: Scope) -> Comparison {
        if comparison.right == .value(.null), let name = toManyRelationship(comparison.left) {
            wrong = wrong ?? "NIL, but \(name) leads to many objects: write \(name).@count == 0"
        }
        var resolved = comparison
        let (left, right) = (destination(of: comparison.left, scope), destination(of: comparison.right, scope))
        resolved.left = operand(comparison.left, left, comparedWith: right, scope)
        resolved.right = operand(comparison.right, right, comparedWith: left, scope)
        return resolved
    }

    /// Rewrites one side of a comparison. An expression of objects becomes the expression of their keys. If only the
    /// other side is an expression of objects, ids on this side become keys.
    private mutating func operand(
        _ expression: ExpressionSyntax, _ own: Int?, comparedWith other: Int?, _ scope: Scope
    ) -> ExpressionSyntax {
        if own != nil { return key(of: expression, scope) }
        guard let other else { return self.expression(expression, scope) }
        // Ids of all entities in the hierarchy are allowed: the predicate is compiled separately for each subentity of
        // the request, but an id may belong to an object of another subentity.
        return withKeys(of: model.family(of: other), expression, scope)
    }

    /// The relationship's name, if the expression is exactly a to-many relationship of SELF; otherwise nil.
    private func toManyRelationship(_ expression: ExpressionSyntax) -> String? {
        guard case .keyPath(.object, let steps) = expression, steps.count == 1, case .name(let name) = steps[0],
            model.entities[number].relationship(named: name)?.description.isToMany == true
        else { return nil }
        return name
    }

    // MARK: Expressions

    /// Rewrites the predicates inside an expression, and replaces entities by their names.
    private mutating func expression(_ expression: ExpressionSyntax, _ scope: Scope) -> ExpressionSyntax {
        switch expression {
        case .value, .object, .variable: return expression
        case .list(let elements): return .list(elements.map { self.expression($0, scope) })
        case .call(let function, let arguments): return .call(function, arguments.map { self.expression($0, scope) })
        case .operation(let sign, let left, let right):
            return .operation(sign, self.expression(left, scope), self.expression(right, scope))
        case .keyPath(let base, let steps):
            return .keyPath(self.expression(base, scope), namingEntity(base, steps, scope))
        case .subquery(let collection, let variable, let predicate):
            var inner = scope
            inner[variable] = destination(of: collection, scope)
            return .subquery(
                self.expression(collection, scope), variable: variable, self.predicate(predicate, inner))
        case .ternary(let predicate, let first, let second):
            return .ternary(
                self.predicate(predicate, scope), self.expression(first, scope), self.expression(second, scope))
        }
    }

    /// If an expression leads to objects or to the keys of objects, the entity of these objects; otherwise nil.
    private func destination(of expression: ExpressionSyntax, _ scope: Scope) -> Int? {
        switch expression {
        case .object: return number
        case .variable(let name): return scope[name]
        case .subquery(let collection, _, _): return destination(of: collection, scope)
        case .keyPath(let base, let steps):
            guard let start = destination(of: base, scope) else { return nil }
            guard let (end, count) = follow(steps, from: start) else { return nil }
            if count == steps.count { return end }
            return count == steps.count - 1 && isKey(steps[count], of: end) ? end : nil
        case .value, .list, .call, .operation, .ternary: return nil
        }
    }

    /// Follows the leading steps that are relationships or select an element. Returns the entity at which these steps
    /// end, and the number of these steps; nil if a destination is unknown.
    private func follow(_ steps: [KeyPathStep], from start: Int) -> (entity: Int, count: Int)? {
        var entity = start
        for (count, step) in steps.enumerated() {
            switch step {
            case .first, .last, .index: continue
            case .name(let name):
                guard let relationship = model.entities[entity].relationship(named: name) else {
                    return (entity, count)
                }
                guard let next = try? model.number(of: relationship.description.destination) else { return nil }
                entity = next
            case .collection, .size: return (entity, count)
            }
        }
        return (entity, steps.count)
    }

    /// Whether a step from an object leads to the object itself: `self` or `objectID`.
    private func isKey(_ step: KeyPathStep, of entity: Int) -> Bool {
        guard case .name(let name) = step, name == RelatedPath.keyName || name == "objectID" else { return false }
        return !hasProperty(name, entity)
    }

    private func hasProperty(_ name: String, _ entity: Int) -> Bool {
        let entity = model.entities[entity]
        return entity.slot(of: name) != nil || entity.relationship(named: name) != nil
    }

    /// Replaces `entity.name` by the step `entity`, which stands for the name of an object's entity.
    private func namingEntity(_ base: ExpressionSyntax, _ steps: [KeyPathStep], _ scope: Scope) -> [KeyPathStep] {
        guard let start = destination(of: base, scope), let (end, count) = follow(steps, from: start),
            count < steps.count, case .name(RelatedPath.entityName) = steps[count],
            !hasProperty(RelatedPath.entityName, end)
        else { return steps }
        let rest = steps[(count + 1)...]
        return Array(steps[...count] + (rest.first == .name("name") ? rest.dropFirst() : rest))
    }

    // MARK: Keys

    /// Converts an expression of objects to the expression of their keys.
    private mutating func key(of expression: ExpressionSyntax, _ scope: Scope) -> ExpressionSyntax {
        let key = KeyPathStep.name(RelatedPath.keyName)
        let resolved = self.expression(expression, scope)
        guard case .keyPath(let base, let steps) = resolved else { return .keyPath(resolved, [key]) }
        if let start = destination(of: base, scope), let (_, count) = follow(steps, from: start), count < steps.count {
            return .keyPath(base, steps.dropLast() + [key])
        }
        return .keyPath(base, steps + [key])
    }

    /// Replaces object ids, single or in lists, by keys. Sets `wrong` for the id of an object that isn't of one of the
    /// entities, and for other values except null.
    private mutating func withKeys(
        of entities: [Int], _ expression: ExpressionSyntax, _ scope: Scope
    ) -> ExpressionSyntax {
        switch expression {
        case .value(.null): return expression
        case .variable(let name) where scope[name] == nil: return expression
        case .value(.string(let text)):
            guard let key = RecordKey(predicateText: text) else { break }
            guard entities.contains(key.entity) else {
                wrong = wrong ?? "an object of another entity"
                return expression
            }
            return .value(key.reference)
        case .list(let elements):
            return .list(
                elements.map {
                    destination(of: $0, scope) == nil ? withKeys(of: entities, $0, scope) : key(of: $0, scope)
                })
        default: break
        }
        wrong = wrong ?? "a value that is not an object's id: write author.name, say, or pass an objectID"
        return expression
    }
}
