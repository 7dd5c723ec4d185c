import Foundation
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexPredicates

/// LIKE, compared with a matcher that tries all ways to divide a text.
@Suite struct LikeTests {
    private enum Piece {
        case text(String)
        case oneCharacter
        case anyCharacters

        var format: String {
            switch self {
            case .text(let text): text
            case .oneCharacter: "?"
            case .anyCharacters: "*"
            }
        }
    }

    private func matches(
        _ text: ArraySlice<Character>, _ pieces: ArraySlice<Piece>, _ folding: TextFolding = []
    ) -> Bool {
        guard let piece = pieces.first else { return text.isEmpty }
        return (text.startIndex...text.endIndex).contains { end in
            let part = text[..<end]
            let isMatched =
                switch piece {
                case .text(let literal): folding.fold(String(part)) == folding.fold(literal)
                case .oneCharacter: part.count == 1
                case .anyCharacters: true
                }
            return isMatched && matches(text[end...], pieces.dropFirst(), folding)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func likeAgreesWithAPlainMatcher(seed: UInt64) throws {
        // Some texts have characters of one scalar, and some of several.
        try compare(
            [["a", "b"], ["a", "b", "影", "か"], ["e", "\u{301}", "か", "\u{3099}", "\r", "\n"]], [[]], seed: seed)
    }

    /// A wildcard takes a character that folds to several as one character.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func wildcardsMatchWholeCharactersUnderFolding(seed: UInt64)
        throws
    {
        try compare(
            [["ß", "s", "S", "ẞ"], ["é", "e", "É", "\u{301}", "a"], ["ﬁ", "f", "I", "İ", "i", "\r", "\n"]],
            [.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]], seed: seed)
    }

    private func compare(_ alphabets: [[String]], _ foldings: [TextFolding], seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var matchedCount = 0
        for _ in 0..<1000 {
            let alphabet = alphabets.randomElement(using: &generator)!
            func text(_ lengths: ClosedRange<Int>) -> String {
                (0..<Int.random(in: lengths, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! }
                    .joined()
            }
            var pieces: [Piece] = []
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: pieces.append(.oneCharacter)
                case 1: pieces.append(.anyCharacters)
                default:
                    // Two texts side by side would be one.
                    if case .text? = pieces.last { continue }
                    pieces.append(.text(text(1...2)))
                }
            }
            let (pattern, value) = (pieces.map(\.format).joined(), text(0...9))
            let folding = foldings.randomElement(using: &generator)!
            let isMatched = matches(Array(value)[...], pieces[...], folding)
            matchedCount += isMatched ? 1 : 0
            let found = try TextTest(.like, pattern, folding).matches(value)
            #expect(found == isMatched, "seed \(seed): \(pattern.debugDescription), \(value.debugDescription)")
        }
        #expect((100...900).contains(matchedCount), "\(matchedCount)")
    }
}
