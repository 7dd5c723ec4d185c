import FetchIndexTestSupport
import Testing

@testable import FetchIndexPredicates

/// CONTAINS looks for a pattern's rarest byte. It's compared with a plain search, which tries each offset of the text.
@Suite struct ContainsTests {
    private func contains(_ text: [UInt8], _ pattern: [UInt8]) -> Bool {
        pattern.isEmpty
            || text.indices.contains { start in
                start + pattern.count <= text.count && text[start..<start + pattern.count].elementsEqual(pattern)
            }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func containsAgreesWithAPlainSearch(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        // The texts have common and rare characters, and bytes of か, が and é.
        let alphabets: [[UInt8]] = [
            Array("ab".utf8), Array("e/zq".utf8), Array("かがé".utf8), [0, 0x7F, 0x80, 0xC1, 0xC2, 0xFF],
        ]
        var foundCount = 0
        for _ in 0..<2000 {
            let alphabet = alphabets.randomElement(using: &generator)!
            func bytes(_ most: Int) -> [UInt8] {
                (0..<Int.random(in: 0...most, using: &generator)).map { _ in alphabet.randomElement(using: &generator)!
                }
            }
            let (text, pattern) = (bytes(40), bytes(5))
            let isFound = contains(text, pattern)
            foundCount += isFound ? 1 : 0
            let found = try BytePattern(pattern).isContained(in: text.span.bytes)
            #expect(found == isFound, "seed \(seed): \(pattern) in \(text)")
        }
        #expect((200...1800).contains(foundCount))
    }

    /// The pattern's rarest byte is its first or its last byte, or occurs several times. The text ends with the
    /// pattern; the text without its last byte doesn't contain it.
    @Test(arguments: [("zab", "eezab"), ("abz", "abz"), ("zz", "zaz zz"), ("z", "z"), ("az", "zzzaz")])
    func aPatternIsFoundWhetherItsRarestByteIsFirstOrLast(pattern: String, text: String) throws {
        #expect(try BytePattern(Array(pattern.utf8)).isContained(in: Array(text.utf8).span.bytes))
        #expect(try !BytePattern(Array(pattern.utf8)).isContained(in: Array(text.utf8.dropLast()).span.bytes))
    }
}
