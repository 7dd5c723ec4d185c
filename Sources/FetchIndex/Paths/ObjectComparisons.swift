internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexPlatform
internal import FetchIndexValues

/// Writes a predicate so that objects are their keys where they are compared: `author == %@`, `SELF IN %@`, `ANY tags == SELF`,
/// `$b.author != SELF.author`; and so that the entity of an object is its name: `entity == 'Book'`, `author.entity.name`.
struct ObjectComparisons {
    private let number: Int
    private let model: Model
    /// What is compared with an object, and cannot be.
    private var wrong: String?

    /// The entity of a variable's objects, by the variable's name.
    private typealias Scope = [String: Int]

    private init(ofEntity number: Int, in model: Model) { (self.number, self.model) = (number, model) }

    /// Throws `FetchPredicateError.typeMismatch` where an object is compared with what is none.
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
            wrong = "NIL, and leads to many objects: write \(name).@count == 0"
        }
        var resolved = comparison
        let (left, right) = (destination(of: comparison.left, scope), destination(of: comparison.right, scope))
        resolved.left = operand(comparison.left, left, comparedWith: right, scope)
        resolved.right = operand(comparison.right, right, comparedWith: left, scope)
        return resolved
    }

    /// A side of a comparison: the key of its objects if it has objects, or else what the key of the other side's is compared with.
    private mutating func operand(
        _ expression: ExpressionSyntax, _ own: Int?, comparedWith other: Int?, _ scope: Scope
    ) -> ExpressionSyntax {
        if own != nil { return key(of: expression, scope) }
        guard let other else { return self.expression(expression, scope) }
        // SELF may be one of a subentity, and the predicate is for it alone then.
        return withKeys(of: model.family(of: other), expression, scope)
    }

    /// The name of a to-many relationship that is the whole expression.
    private func toManyRelationship(_ expression: ExpressionSyntax) -> String? {
        guard case .keyPath(.object, let steps) = expression, steps.count == 1, case .name(let name) = steps[0],
            model.entities[number].relationship(named: name)?.description.isToMany == true
        else { return nil }
        return name
    }

    // MARK: Expressions

    /// With its predicates resolved, and the names of entities for entities.
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

    /// The entity whose objects, or keys of objects, an expression has; nil for one that has none.
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

    /// The entity to which the first steps lead that are relationships, or pick one of several objects, and how many these are.
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

    /// Whether a step behind an object gives the object itself.
    private func isKey(_ step: KeyPathStep, of entity: Int) -> Bool {
        guard case .name(let name) = step, name == RelatedPath.keyName || name == "objectID" else { return false }
        return !hasProperty(name, entity)
    }

    private func hasProperty(_ name: String, _ entity: Int) -> Bool {
        let entity = model.entities[entity]
        return entity.slot(of: name) != nil || entity.relationship(named: name) != nil
    }

    /// `entity.name`, and `entity` alone, as the one step that gives the name of an object's entity.
    private func namingEntity(_ base: ExpressionSyntax, _ steps: [KeyPathStep], _ scope: Scope) -> [KeyPathStep] {
        guard let start = destination(of: base, scope), let (end, count) = follow(steps, from: start),
            count < steps.count, case .name(RelatedPath.entityName) = steps[count],
            !hasProperty(RelatedPath.entityName, end)
        else { return steps }
        let rest = steps[(count + 1)...]
        return Array(steps[...count] + (rest.first == .name("name") ? rest.dropFirst() : rest))
    }

    // MARK: Keys

    /// The key of what an expression has.
    private mutating func key(of expression: ExpressionSyntax, _ scope: Scope) -> ExpressionSyntax {
        let key = KeyPathStep.name(RelatedPath.keyName)
        let resolved = self.expression(expression, scope)
        guard case .keyPath(let base, let steps) = resolved else { return .keyPath(resolved, [key]) }
        if let start = destination(of: base, scope), let (_, count) = follow(steps, from: start), count < steps.count {
            return .keyPath(base, steps.dropLast() + [key])
        }
        return .keyPath(base, steps + [key])
    }

    /// An id as the key of its object, and lists of them.
    private mutating func withKeys(
        of entities: [Int], _ expression: ExpressionSyntax, _ scope: Scope
    ) -> ExpressionSyntax {
        switch expression {
        case .value(.null): return expression
        case .variable(let name) where scope[name] == nil: return expression
        case .value(.string(let text)):
            guard let key = RecordKey(predicateText: text) else { break }
            guard entities.contains(key.entity) else {
                wrong = "an object of another entity"
                return expression
            }
            return .value(.integer(Int64(bitPattern: key.rawValue)))
        case .list(let elements):
            return .list(
                elements.map {
                    destination(of: $0, scope) == nil ? withKeys(of: entities, $0, scope) : key(of: $0, scope)
                })
        default: break
        }
        wrong = "what is no object's id: write author.name, say, or pass an objectID"
        return expression
    }
}
