import Testing
import FetchIndexValues

@testable import FetchIndexPredicates

/// The results of comparisons with null. A predicate holds or doesn't hold, without a third result, and NOT exchanges
/// the two.
@Suite struct NullRuleTests {
    /// Null as a literal, as an attribute, and as an attribute that is missing.
    private static let nulls = ["nil", "vacant", "missing"]
    private static let others = ["1", "number", "'a'", "text"]

    private func holds(_ format: String) throws -> Bool {
        let row: [String: Value] = ["vacant": .null, "number": 1, "text": "a"]
        let holds = try FetchPredicate(format: format, argumentArray: []).evaluate(with: row)
        let negated = try FetchPredicate(format: "NOT (\(format))", argumentArray: []).evaluate(with: row)
        #expect(negated != holds, "\(format)")
        return holds
    }

    @Test(arguments: nulls) func nullEqualsNullButNoNumberOrText(null: String) throws {
        for other in Self.nulls {
            #expect(try holds("\(null) == \(other)"))
            #expect(try !holds("\(null) != \(other)"))
        }
        for other in Self.others {
            for (left, right) in [(null, other), (other, null)] {
                #expect(try !holds("\(left) == \(right)"), "\(left), \(right)")
                #expect(try holds("\(left) != \(right)"), "\(left), \(right)")
            }
        }
    }

    @Test(arguments: nulls) func orderComparisonsWithNullAreFalse(null: String) throws {
        for operation in ["<", "<=", ">", ">="] {
            for other in Self.nulls + Self.others {
                #expect(try !holds("\(null) \(operation) \(other)"), "\(operation), \(other)")
                #expect(try !holds("\(other) \(operation) \(null)"), "\(operation), \(other)")
            }
        }
        for bounds in ["{\(null), 5}", "{0, \(null)}", "{\(null), \(null)}"] {
            #expect(try !holds("number BETWEEN \(bounds)"), "\(bounds)")
        }
        #expect(try !holds("\(null) BETWEEN {0, 5}"))
    }

    @Test(arguments: nulls) func textSearchesWithNullAreFalse(null: String) throws {
        for operation in ["CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES"] {
            for pattern in ["'a'", "text"] { #expect(try !holds("\(null) \(operation) \(pattern)"), "\(operation)") }
            #expect(try !holds("text \(operation) \(null)"), "\(operation)")
        }
    }

    @Test(arguments: nulls) func nullIsOnlyInListsThatHaveIt(null: String) throws {
        #expect(try holds("\(null) IN {1, nil}"))
        #expect(try holds("\(null) IN {vacant}"))
        #expect(try !holds("\(null) IN {1, 'a'}"))
        #expect(try !holds("\(null) IN {}"))
        #expect(try !holds("number IN {\(null), 2}"))
        #expect(try holds("number IN {\(null), 1}"))
    }

    /// Null counts as an empty list: ANY doesn't hold, but ALL and NONE do.
    @Test(arguments: nulls.dropFirst()) func quantifiersTakeNullForAnEmptyList(null: String) throws {
        for comparison in ["== 1", "!= 1", "== nil", "< 5"] {
            #expect(try !holds("ANY \(null) \(comparison)"), "\(comparison)")
            #expect(try holds("ALL \(null) \(comparison)"), "\(comparison)")
            #expect(try holds("NONE \(null) \(comparison)"), "\(comparison)")
        }
        #expect(try holds("\(null).@count == 0"))
    }

    @Test(arguments: nulls) func calculationsWithNullAreNull(null: String) throws {
        for operation in ["+", "-", "*", "/", "**", "&", "|", "^", "<<", ">>"] {
            #expect(try holds("(\(null) \(operation) 1) == nil"), "\(operation)")
            #expect(try holds("(number \(operation) \(null)) == nil"), "\(operation)")
        }
    }
}
