internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

/// Rewrites a predicate so that objects are compared by their keys: `author == %@`, `SELF IN %@`, `ANY tags == SELF`,
/// `$b.author != SELF.author`; and so that the entity of an object is its name: `entity == 'Book'`,
/// `author.entity.name`.
struct ObjectComparisons {
    private let number: Int
    private let model: Model
    /// The description of an operand that can't be compared with an object; nil if all can.
    private var wrong: String?

    /// The entity of a variable's objects, by the variable's name.
    private typealias Scope = [String: Int]

    private init(ofEntity number: Int, in model: Model) { (self.number, self.model) = (number, model) }

    /// Rewrites a predicate. Throws `FetchPredicateError.typeMismatch` if an object is compared with something else.
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
            wrong = "NIL, but \(name) leads to many objects: write \(name).@count == 0"
        }
        var resolved = comparison
        let (left, right) = (destination(of: comparison.left, scope), destination(of: comparison.right, scope))
        resolved.left = operand(comparison.left, left, comparedWith: right, scope)
        resolved.right = operand(comparison.right, right, comparedWith: left, scope)
        return resolved
    }

    /// A side of a comparison: the key of its objects if it has objects, otherwise the value that the other side's keys
    /// are compared with.
    private mutating func operand(
        _ expression: ExpressionSyntax, _ own: Int?, comparedWith other: Int?, _ scope: Scope
    ) -> ExpressionSyntax {
        if own != nil { return key(of: expression, scope) }
        guard let other else { return self.expression(expression, scope) }
        // SELF may belong to a subentity, for which alone the predicate then holds.
        return withKeys(of: model.family(of: other), expression, scope)
    }

    /// The name of a to-many relationship that forms the whole expression; nil for other expressions.
    private func toManyRelationship(_ expression: ExpressionSyntax) -> String? {
        guard case .keyPath(.object, let steps) = expression, steps.count == 1, case .name(let name) = steps[0],
            model.entities[number].relationship(named: name)?.description.isToMany == true
        else { return nil }
        return name
    }

    // MARK: Expressions

    /// The expression with its inner predicates resolved, and entities replaced by their names.
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

    /// The entity of an expression's objects, or keys of objects; nil for other expressions.
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

    /// Follows the leading steps that are relationships, or pick one of several objects. Returns the entity that they
    /// lead to, and their number.
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

    /// Whether a step after an object returns the object itself.
    private func isKey(_ step: KeyPathStep, of entity: Int) -> Bool {
        guard case .name(let name) = step, name == RelatedPath.keyName || name == "objectID" else { return false }
        return !hasProperty(name, entity)
    }

    private func hasProperty(_ name: String, _ entity: Int) -> Bool {
        let entity = model.entities[entity]
        return entity.slot(of: name) != nil || entity.relationship(named: name) != nil
    }

    /// Replaces `entity.name`, and `entity` alone, by one step that returns the name of an object's entity.
    private func namingEntity(_ base: ExpressionSyntax, _ steps: [KeyPathStep], _ scope: Scope) -> [KeyPathStep] {
        guard let start = destination(of: base, scope), let (end, count) = follow(steps, from: start),
            count < steps.count, case .name(RelatedPath.entityName) = steps[count],
            !hasProperty(RelatedPath.entityName, end)
        else { return steps }
        let rest = steps[(count + 1)...]
        return Array(steps[...count] + (rest.first == .name("name") ? rest.dropFirst() : rest))
    }

    // MARK: Keys

    /// The key of an expression's objects.
    private mutating func key(of expression: ExpressionSyntax, _ scope: Scope) -> ExpressionSyntax {
        let key = KeyPathStep.name(RelatedPath.keyName)
        let resolved = self.expression(expression, scope)
        guard case .keyPath(let base, let steps) = resolved else { return .keyPath(resolved, [key]) }
        if let start = destination(of: base, scope), let (_, count) = follow(steps, from: start), count < steps.count {
            return .keyPath(base, steps.dropLast() + [key])
        }
        return .keyPath(base, steps + [key])
    }

    /// Replaces object ids, alone and in lists, by the keys of their objects.
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
        wrong = "a value that is not an object's id: write author.name, say, or pass an objectID"
        return expression
    }
}
