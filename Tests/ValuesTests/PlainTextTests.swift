import Testing

@testable import FetchIndexValues

/// Texts that are folded without ICU.
@Suite struct PlainTextTests {
    /// Each scalar below U+10000 is tested alone and beside other scalars. If this makes a plain text,
    /// `withFolded` and `fold` fold the text in the same way.
    @Test func foldingWithoutICUAgreesWithICU() {
        let foldings: [TextFolding] = [
            .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
        ]
        let scalars = (UInt32(0)...0xFFFF).compactMap(Unicode.Scalar.init)
        var plainCount = 0
        for scalar in scalars {
            for text in ["\(scalar)", "か\(scalar)A", "\(scalar)\u{3099}"] {
                let bytes = Array(text.utf8)
                guard bytes.withUnsafeBytes({ $0.isPlainText }) else { continue }
                plainCount += 1
                #expect(text.count == text.unicodeScalars.count, "\(scalar.value)")
                for folding in foldings {
                    let folded = folding.fold(text)
                    let matches = bytes.withUnsafeBytes { bytes in
                        folding.withFolded(bytes.bytes) { found in
                            found.withUnsafeBytes { $0.elementsEqual(folded) }
                        }
                    }
                    #expect(matches, "U+\(String(scalar.value, radix: 16)) in \(text)")
                }
            }
        }
        #expect(plainCount > 50_000)
    }
}
