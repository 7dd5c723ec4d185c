import FetchIndexPlatform
import Testing

@Suite struct UTF8ValidityTests {
    private func firstInvalid(_ bytes: [UInt8]) -> Int? { bytes.withUnsafeBytes { $0.firstInvalidUTF8 } }

    @Test func theFirstInvalidBytesAreFoundAlsoIfTheyBeginLikeTheReplacementCharacter() {
        #expect(firstInvalid([0x61, 0xEF, 0xBF, 0xBD]) == nil)
        for (bytes, offset) in [
            ([0x61, 0x80], 1), ([0x61, 0xEF, 0x41], 1), ([0x61, 0xEF, 0xBF, 0x41], 1), ([0x61, 0xEF, 0xBF], 1),
            ([0xEF, 0xBF, 0xBD, 0xFF], 3), ([0x61, 0xE2, 0x82], 1), ([0xEF], 0),
        ] as [([UInt8], Int)] {
            #expect(firstInvalid(bytes) == offset, "\(bytes)")
        }
    }

    /// The bytes before the found offset are valid text, and the next one to four bytes don't continue it.
    @Test func randomBytesAreValidBeforeTheirFirstInvalidBytes() {
        var generator = SystemRandomNumberGenerator()
        let parts: [[UInt8]] = [
            [0x61], Array("ß".utf8), Array("€".utf8), Array("😀".utf8), [0xEF, 0xBF, 0xBD], [0xEF], [0xBF],
            [0xF0, 0x9F],
        ]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 1...8, using: &generator)).flatMap { _ in
                parts.randomElement(using: &generator) ?? []
            }
            let isValid = String(validating: bytes, as: UTF8.self) != nil
            let offset = firstInvalid(bytes)
            #expect((offset == nil) == isValid, "\(bytes)")
            guard let offset else { continue }
            #expect(String(validating: bytes[..<offset], as: UTF8.self) != nil, "\(bytes)")
            for length in 1...4 where offset + length <= bytes.count {
                #expect(String(validating: bytes[..<(offset + length)], as: UTF8.self) == nil, "\(bytes)")
            }
        }
    }
}
