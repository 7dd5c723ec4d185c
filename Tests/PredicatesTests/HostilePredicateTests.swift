import FetchIndexPredicates
import Testing
import FetchIndexValues

/// Very large predicates and very slow patterns are evaluated or refused with an error, without a crash.
@Suite struct HostilePredicateTests {
    private func holds(_ format: String, _ arguments: [any PredicateArgument] = [], _ text: String = "a") throws -> Bool
    {
        try FetchPredicate(format: format, argumentArray: arguments).evaluate(with: ["t": .one(.string(text)), "n": 1])
    }

    @Test func listsAndORsWithThousandsOfPartsAreEvaluated() throws {
        let numbers = Array(0..<50_000)
        #expect(try holds("n IN %@", [numbers]))
        #expect(try holds("NOT n IN {\(numbers.dropFirst(2).map(String.init).joined(separator: ","))}"))
        #expect(try holds(Array(repeating: "n == 2", count: 5000).joined(separator: " OR ") + " OR n == 1"))
        let placeholders = Array(repeating: "%@", count: 5000).joined(separator: ",")
        #expect(try holds("n IN {\(placeholders)}", Array(0..<5000)))
        #expect(throws: FetchPredicateError.self) { try holds("n == 1", Array(0..<5000)) }
    }

    @Test(arguments: [
        "NOT ", "(", "n == -", "n == {", "n == 1 + (", "t.", "ANY ", "SUBQUERY(", "n == abs(", "n == 1 ** ",
    ])
    func aPartRepeatedFiftyThousandTimesIsAnError(part: String) {
        let format = String(repeating: part, count: 50_000)
        #expect(throws: FetchPredicateError.self) { try holds(format) }
    }

    @Test func patternsThatTakeTooLongAreAnError() {
        let text = String(repeating: "a", count: 1_000_000)
        let long = String(repeating: "a", count: 20_000)
        for comparison in [
            // The search looks for a, which counts as rarer than e.
            "LIKE '*\(long)e*'", "LIKE '\(long)*\(long)e*a'", "CONTAINS '\(long)e'", "MATCHES '(a+)+b'",
            "LIKE '*\(String(repeating: "?a", count: 5000))?b*'",
        ] {
            do {
                #expect(try !holds("t \(comparison)", [], text), "\(comparison.prefix(20))")
                Issue.record("\(comparison.prefix(20)) was compared to the end")
            } catch {
                guard case FetchPredicateError.patternTimeout(let sentence) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(sentence.utf8.count < 200)
            }
        }
    }

    /// The text is one character of about a million scalars. The pattern's text occurs half a million times, but not at
    /// the boundary of a character. The search must end with an error.
    @Test func tooManyMatchesInsideACharacterAreAnError() throws {
        let marks = String(repeating: "\u{301}", count: 500_000)
        let error = #expect(throws: FetchPredicateError.self) {
            try holds("t LIKE '*\(marks)*'", [], "e" + marks + marks)
        }
        guard case .patternTimeout? = error else {
            Issue.record("\(String(describing: error).prefix(100))")
            return
        }
    }

    @Test func longButCheapPatternsAreCompared() throws {
        let text = String(repeating: "ab", count: 100_000)
        #expect(try holds("t LIKE '*\(text)*'", [], text + "c"))
        #expect(try holds("t CONTAINS '\(text)'", [], "c" + text))
        #expect(try holds("t LIKE '\(String(repeating: "?", count: 200_000))'", [], text))
        // The beginning of the text decides, although the pattern's rarest character is everywhere in it.
        let long = String(repeating: "a", count: 1_000_000)
        #expect(try !holds("t LIKE 'e\(long.prefix(20_000))?'", [], "c" + long))
        #expect(try holds("t LIKE '*?\(long.prefix(20_000))*'", [], long))
        #expect(try holds("t LIKE '*\(long.prefix(20_000))'", [], long))
    }

    @Test func anErrorCitesOnlyTheBeginningOfAPattern() {
        let pattern = String(repeating: "(", count: 10_000)
        let error = #expect(throws: FetchPredicateError.self) { try holds("t MATCHES '\(pattern)'") }
        #expect("\(String(describing: error))".utf8.count < 300)
    }
}
