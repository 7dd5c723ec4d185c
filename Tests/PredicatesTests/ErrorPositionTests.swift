import FetchIndexTestSupport
import Testing

@testable import FetchIndexPredicates

/// The error for a malformed format names the position of the mistake.
@Suite struct ErrorPositionTests {
    private static let seeds = 1...20 as ClosedRange<UInt64>

    /// The indices of a format's blanks that aren't in a text or a quoted name.
    private func blanks(_ format: [Unicode.Scalar]) -> [Int] {
        var blanks: [Int] = []
        var quote: Unicode.Scalar?
        var isEscaped = false
        for (index, scalar) in format.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if let open = quote {
                if scalar == "\\" && open != "`" { isEscaped = true }
                if scalar == open { quote = nil }
            } else if scalar == "\"" || scalar == "'" || scalar == "`" {
                quote = scalar
            } else if scalar == " " {
                blanks.append(index)
            }
        }
        return blanks
    }

    private func format(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    /// A question mark is inserted at each blank of random predicates. The error must name it and its position.
    @Test(arguments: seeds) func aStrayCharacterIsNamedWithItsPosition(seed: UInt64) throws {
        var random = RandomPredicate(seed: seed)
        var count = 0
        for round in 0..<40 {
            let valid = Array(random.syntax(depth: 3).description.unicodeScalars)
            for blank in blanks(valid) {
                let stray = format(valid[..<blank] + [" ", "?"] + valid[blank...])
                count += 1
                #expect(
                    throws: FetchPredicateError.unexpected(
                        position: blank + 2, found: "\"?\"", expected: "a part of a predicate"),
                    "seed \(seed), round \(round): \(stray)"
                ) { try FetchPredicate(format: stray, argumentArray: []) }
            }
        }
        #expect(count > 50, "seed \(seed)")
    }

    /// A valid format is cut off at each blank. The text before the cut must parse, or give an error at its end.
    @Test(arguments: seeds) func aFormatThatIsCutOffParsesOrHasItsErrorAtTheEnd(seed: UInt64) throws {
        var random = RandomPredicate(seed: seed)
        var endCount = 0
        for round in 0..<10 {
            let valid = Array(random.syntax(depth: 2).description.unicodeScalars)
            for blank in blanks(valid) {
                let cut = format(valid[..<blank])
                do { _ = try FetchPredicate(format: cut, argumentArray: []) } catch FetchPredicateError.unexpected(
                    let position, let found, _)
                {
                    #expect(
                        position == blank + 1 && found == "the end", "seed \(seed), round \(round): \(cut): \(found)")
                    endCount += 1
                }
            }
        }
        #expect(endCount > 3, "seed \(seed)")
    }

    /// Characters of a valid format are replaced, removed and doubled. The result must be a predicate that reads back
    /// from its canonical form, a type error, or an error with a position within the format or at its end.
    @Test(arguments: seeds) func aBrokenFormatParsesOrHasATypeErrorOrAnErrorAtItsPosition(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var random = RandomPredicate(seed: seed)
        let parts = Array("(){}\"'\\%$#`=!a0. 影".unicodeScalars)
        for round in 0..<200 {
            var scalars = Array(random.syntax(depth: 2).description.unicodeScalars)
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !scalars.isEmpty {
                let place = Int.random(in: 0..<scalars.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: scalars.remove(at: place)
                case 1: scalars.insert(scalars[place], at: place)
                default: scalars[place] = parts.randomElement(using: &generator) ?? "a"
                }
            }
            let broken = format(scalars)
            do {
                let predicate = try FetchPredicate(format: broken, argumentArray: [])
                #expect(
                    try FetchPredicate(predicate.description) == predicate, "seed \(seed), round \(round): \(broken)")
            } catch FetchPredicateError.unexpected(let position, let found, _) {
                let comment = "seed \(seed), round \(round): \(broken): \(found) at \(position)"
                #expect((1...scalars.count + 1).contains(position), "\(comment)")
                if found == "the end" { continue }
                // The position must be that of the token in quotes, which may be shortened.
                let isQuoted = found.hasPrefix("\"") && found.hasSuffix("\"") && found.unicodeScalars.count > 2
                let token = isQuoted ? String(found.dropFirst().dropLast()) : found
                guard token.unicodeScalars.allSatisfy({ $0.isASCII && $0.value >= 32 }) else { continue }
                #expect(scalars[(position - 1)...].starts(with: token.unicodeScalars.prefix(8)), "\(comment)")
            } catch let error as FetchPredicateError {
                // A type error has no position.
                if case .typeMismatch = error { continue }
                Issue.record("seed \(seed), round \(round): \(broken): \(error)")
            }
        }
    }
}
