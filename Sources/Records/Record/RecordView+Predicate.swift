package import FetchIndexPredicates
package import FetchIndexValues

/// Lets predicates read a record's bytes. Attributes are identified by slots.
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
