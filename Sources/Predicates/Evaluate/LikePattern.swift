internal import Bytes
internal import Values

/// A pattern of LIKE: `?` is one character, `*` any number of them, a backslash escapes the next
/// character. Characters are grapheme clusters, as Swift's are.
struct LikePattern: Sendable {
    private enum Piece: Equatable, Sendable {
        /// Folded UTF-8.
        case text([UInt8])
        case oneCharacter
        case anyCharacters

        var comparisons: Int {
            if case .text(let bytes) = self { 1 + bytes.count / 64 } else { 1 }
        }
    }

    /// The maximum number of comparisons of 64 bytes that one text may take, about a second: beyond it, the pattern
    /// backtracks excessively.
    static let maximumComparisons = 50_000_000

    /// The error of a test that takes too long.
    static func tooMuch(_ comparator: String, textLength: Int) -> FetchPredicateError {
        .patternTimeout("\(comparator) takes too much time on a text of \(textLength) bytes")
    }

    private let pieces: [Piece]

    init(_ pattern: String, _ folding: TextFolding) {
        var pieces: [Piece] = []
        var literal = ""
        func close() {
            if !literal.isEmpty { pieces.append(.text(folding.fold(literal))) }
            literal = ""
        }
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            switch scalar {
            case "\\" where !isEscaped:
                isEscaped = true
                continue
            case "?" where !isEscaped:
                close()
                pieces.append(.oneCharacter)
            case "*" where !isEscaped:
                close()
                if pieces.last != .anyCharacters { pieces.append(.anyCharacters) }
            default: literal.unicodeScalars.append(scalar)
            }
            isEscaped = false
        }
        if isEscaped { literal.append("\\") }
        close()
        self.pieces = pieces
    }

    /// Takes folded UTF-8, all of which must match. Goes back only to the last `*`: O(length of text and pattern) for
    /// most, their product at worst. Throws when that takes too long.
    func matches(_ text: RawSpan) throws -> Bool {
        try text.withUnsafeBytes { text in
            let bounds = CharacterBounds(text)
            var left = Self.maximumComparisons
            var piece = 0
            var place = 0
            var star: (piece: Int, place: Int)?
            while place < text.count || piece < pieces.count {
                if piece < pieces.count {
                    if pieces[piece] == .anyCharacters {
                        star = (piece, place)
                        piece += 1
                        continue
                    }
                    left -= pieces[piece].comparisons
                    if left < 0 {
                        throw Self.tooMuch("LIKE", textLength: text.count)
                    }
                    if let next = end(of: pieces[piece], at: place, in: text, bounds) {
                        place = next
                        piece += 1
                        continue
                    }
                }
                guard let last = star, last.place < text.count else { return false }
                let retried = bounds.next(after: last.place)
                star = (last.piece, retried)
                (piece, place) = (last.piece + 1, retried)
            }
            return true
        }
    }

    /// Where a piece that matches at a place ends; nil when it does not match there.
    private func end(of piece: Piece, at place: Int, in text: UnsafeRawBufferPointer, _ bounds: CharacterBounds) -> Int?
    {
        switch piece {
        case .anyCharacters: return place
        case .oneCharacter: return place < text.count ? bounds.next(after: place) : nil
        case .text(let bytes):
            let end = place + bytes.count
            guard end <= text.count, UnsafeRawBufferPointer(rebasing: text[place..<end]).bytes.isEqual(to: bytes) else {
                return nil
            }
            return bounds.isBound(end) ? end : nil
        }
    }
}

/// Where the characters of UTF-8 text begin. Text of ASCII, kana and ideographs needs no table.
private struct CharacterBounds {
    private let text: UnsafeRawBufferPointer
    /// By byte, whether a character begins there; nil when each scalar is a character.
    private let begins: [Bool]?

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
        if text.isPlainText && !text.contains(0x0D) {
            begins = nil
            return
        }
        var begins = [Bool](repeating: false, count: text.count + 1)
        var place = 0
        for character in String(decoding: text, as: UTF8.self) {
            if place < begins.count { begins[place] = true }
            place += character.utf8.count
        }
        begins[text.count] = true
        self.begins = begins
    }

    func isBound(_ place: Int) -> Bool {
        if let begins { return begins[place] }
        return place == text.count || text[place] & 0xC0 != 0x80
    }

    /// The bound behind one that is before the end.
    func next(after place: Int) -> Int {
        var next = place + 1
        while !isBound(next) { next += 1 }
        return next
    }
}
