package import FetchIndexModels
package import FetchIndexPredicates
package import FetchIndexRecords
package import FetchIndexValues

/// The bytes of a record, as a predicate reads them: one slot an attribute.
extension RecordView: PredicateRow {
    package func test(at slot: Int, _ test: TextTest) throws -> Bool? {
        guard let range = try range(of: slot) else { return nil }
        return try test.matches(bytes(range))
    }

    package func bytes<Result>(at slot: Int, _ body: (RawSpan) throws -> Result) throws -> Result? {
        guard let range = try range(of: slot) else { return nil }
        return try body(bytes(range))
    }

    package func value(at slot: Int, as type: ValueType?) throws -> PredicateValue {
        guard let type else { return .one(.null) }
        return .one(try value(at: slot, as: type))
    }

    package var object: PredicateValue { .one(.null) }
}

extension RecordBlock: PredicateRows {
    package mutating func keep(slot: Int, passing test: TextTest) throws {
        try keep(slot: slot) { try test.matches($0) }
    }

    package mutating func keep(slot: Int, _ comparator: Comparator, _ integer: Int64) throws {
        try keep(slot: slot, integer: { comparator.holds($0, integer) })
    }

    package mutating func keep(slot: Int, _ comparator: Comparator, _ double: Double) throws {
        try keep(slot: slot, double: { comparator.holds($0, double) })
    }

    package mutating func keep(matching predicate: CompiledPredicate) throws {
        try keep { (record: borrowing RecordView) in try predicate.evaluate(record) }
    }
}

extension CompiledPredicate {
    /// The parts of its topmost AND that read one text alone, of an attribute of the entity that it was compiled for.
    func columnTests(of entity: Entity) -> [ColumnTest] {
        testsOfOneText { slot in
            slot < entity.slots.count && entity.slots[slot].role == .attribute && entity.type(at: slot) == .string
        }.map { slot, test in
            ColumnTest(slot: slot, holdsForNull: (try? test.holdsForNull()) ?? true, test.holds)
        }
    }

    /// Compiles a predicate for the records of an entity alone. Throws for unknown names and wrong types.
    package init(_ predicate: FetchPredicate, _ entity: Entity) throws {
        try self.init(predicate.syntax) { names in
            let (slot, count) = try entity.resolve(names)
            return ResolvedAttribute(slot: slot, type: entity.attribute(at: slot).type, nameCount: count)
        }
    }

    /// Compiles a predicate for the records of an entity, and those to which key paths lead. Throws as above.
    init(_ predicate: FetchPredicate, _ entity: Entity, _ table: PathTable) throws {
        try self.init(table.comparingObjects(in: predicate).syntax) { try table.resolve($0) }
    }
}

extension Entity {
    /// The attribute that a key path begins with, and how many of its names that takes: a name may contain dots.
    func resolve(_ names: [String]) throws -> (slot: Int, nameCount: Int) {
        for count in stride(from: names.count, through: 1, by: -1) {
            if let slot = slot(of: names.prefix(count).joined(separator: ".")) { return (slot, count) }
        }
        let unknown = names.joined(separator: ".")
        throw FetchPredicateError.unknownAttribute(unknown, entity: name, near: nearName(to: unknown))
    }
}
