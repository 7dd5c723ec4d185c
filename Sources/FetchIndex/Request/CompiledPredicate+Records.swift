package import FetchIndexModels
package import FetchIndexPredicates
internal import FetchIndexRecords

extension RecordBlock {
    /// Deselects the records for which not all parts hold.
    mutating func keep(where parts: [PredicatePart]) throws {
        for part in parts {
            switch part {
            case .text(let slot, let test): try keep(slot: slot) { try test.matches($0) }
            case .integer(let slot, let comparator, let number):
                try keep(slot: slot, integer: { comparator.holds($0, number) })
            case .double(let slot, let comparator, let number):
                try keep(slot: slot, double: { comparator.holds($0, number) })
            case .other(let predicate):
                try keep { (record: borrowing RecordView) in try predicate.evaluate(record) }
            }
        }
    }
}

extension CompiledPredicate {
    /// Makes a test from each part of the predicate's AND that is known to read one text attribute of the entity and
    /// nothing else. If the predicate isn't an AND, the whole predicate is its only part.
    func columnTests(of entity: Entity) -> [ColumnTest] {
        testsOfOneText { slot in
            slot < entity.slots.count && entity.slots[slot].role == .attribute && entity.type(at: slot) == .string
        }.map { slot, test in
            ColumnTest(slot: slot, holdsForNull: (try? test.holdsForNull()) ?? true, test.holds)
        }
    }

    /// Compiles a predicate that reads only the entity's own records. Throws for unknown names and wrong types.
    package init(_ predicate: FetchPredicate, _ entity: Entity) throws {
        try self.init(predicate.syntax) { names in
            let (slot, count) = try entity.resolve(names)
            return ResolvedAttribute(slot: slot, type: entity.attribute(at: slot).type, nameCount: count)
        }
    }

    /// Compiles a predicate that also reads the records to which key paths lead. Throws for unknown names and wrong
    /// types.
    init(_ predicate: FetchPredicate, _ entity: Entity, _ table: PathTable) throws {
        try self.init(table.comparingObjects(in: predicate).syntax) { try table.resolve($0) }
    }
}
