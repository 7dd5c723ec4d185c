internal import FetchIndexValues

/// A pattern of LIKE: `?` matches one character, `*` any number of characters, and a backslash escapes the next
/// character. Characters are grapheme clusters, as in Swift. `?` matches a character of the original text, because
/// folding turns some characters, such as ß, into several.
struct LikePattern: Sendable {
    private enum Piece: Sendable {
        /// UTF-8 text, folded.
        case text(BytePattern)
        case oneCharacter
        case anyCharacters

        var comparisons: Int {
            if case .text(let pattern) = self { 1 + pattern.bytes.count / 64 } else { 1 }
        }

        var isAnyCharacters: Bool { if case .anyCharacters = self { true } else { false } }
    }

    private let pieces: [Piece]
    /// The longest text between the first and the last piece of the pattern. It's searched for before the pattern is
    /// matched, because a text that lacks it can't match.
    private let longest: BytePattern?
    /// The maximum number of comparisons in the search for `longest`. If they don't suffice, the whole pattern is
    /// tried.
    private static let mostComparisonsOfLongest = 1_000_000

    init(_ pattern: String, _ folding: TextFolding) {
        var pieces: [Piece] = []
        var literal = ""
        func close() {
            if !literal.isEmpty { pieces.append(.text(BytePattern(folding.fold(literal)))) }
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
                if pieces.last?.isAnyCharacters != true { pieces.append(.anyCharacters) }
            default: literal.unicodeScalars.append(scalar)
            }
            isEscaped = false
        }
        if isEscaped { literal.append("\\") }
        close()
        self.pieces = pieces
        longest = pieces.dropFirst().dropLast().compactMap { if case .text(let pattern) = $0 { pattern } else { nil } }
            .max { $0.bytes.count < $1.bytes.count }
    }

    /// Whether the pattern matches a whole text, given as its UTF-8 folding and the original. Backtracks only to the
    /// last `*`, and continues at the next occurrence of the piece after it. O(length of text and pattern) for most
    /// patterns, O(their product) at worst. Throws if the match exceeds its budget of comparisons.
    func matches(_ text: RawSpan, of original: RawSpan, _ folding: TextFolding) throws -> Bool {
        // One loop, which goes forward by a piece or back to the last `*`.
        try text.withUnsafeBytes { text in
            // Cheap tests come before the search for the characters' boundaries.
            if lacksText(text) { return false }
            let bounds = original.withUnsafeBytes { CharacterBounds(text, of: $0, folding) }
            var budget = ComparisonBudget("LIKE", of: text)
            var (piece, place) = (0, 0)
            // The piece after the last `*`, and the offset at which it was last tried.
            var last: (piece: Int, place: Int)?
            while place < text.count || piece < pieces.count {
                var start: Int?
                if piece < pieces.count {
                    if pieces[piece].isAnyCharacters {
                        piece += 1
                        if piece == pieces.count { return true }
                        start = place
                    } else {
                        try budget.spend(pieces[piece].comparisons)
                        if let end = end(of: pieces[piece], at: place, in: text, bounds) {
                            (piece, place) = (piece + 1, end)
                            continue
                        }
                    }
                }
                if start == nil, let last, last.place < text.count {
                    piece = last.piece
                    start = bounds.next(after: last.place)
                }
                guard let start else { return false }
                // The last piece can only match at the end. `lacksText` has checked that the text ends with it.
                if piece == pieces.count - 1, case .text(let ending) = pieces[piece] {
                    let place = text.count - ending.bytes.count
                    return place >= start && bounds.isBound(place)
                }
                guard let found = try firstPlace(of: pieces[piece], in: text, from: start, bounds, &budget) else {
                    return false
                }
                place = found
                last = (piece, place)
            }
            return true
        }
    }

    /// Whether a text lacks the pattern's beginning, its ending or `longest`. Returns false if the search exceeds its
    /// budget, because the text may still match.
    private func lacksText(_ text: UnsafeRawBufferPointer) -> Bool {
        if case .text(let beginning)? = pieces.first, !text.starts(with: beginning.bytes) { return true }
        if case .text(let ending)? = pieces.last, !text.ends(with: ending.bytes) { return true }
        guard let longest else { return false }
        var budget = ComparisonBudget("LIKE", of: text, Self.mostComparisonsOfLongest)
        do { return try longest.firstPlace(in: text, from: 0, &budget) == nil } catch { return false }
    }

    /// The offset of the first possible match of a piece, at or after the character boundary `start`; nil if the piece
    /// can't match.
    private func firstPlace(
        of piece: Piece, in text: UnsafeRawBufferPointer, from start: Int, _ bounds: CharacterBounds,
        _ budget: inout ComparisonBudget
    ) throws -> Int? {
        guard case .text(let pattern) = piece else { return start }
        var start = start
        while let found = try pattern.firstPlace(in: text, from: start, &budget) {
            if bounds.isBound(found) { return found }
            start = found + 1
        }
        return nil
    }

    /// The end of a piece's match at an offset; nil if the piece doesn't match there.
    private func end(of piece: Piece, at place: Int, in text: UnsafeRawBufferPointer, _ bounds: CharacterBounds) -> Int?
    {
        switch piece {
        case .anyCharacters: return place
        case .oneCharacter: return place < text.count ? bounds.next(after: place) : nil
        case .text(let pattern):
            let end = place + pattern.bytes.count
            guard end <= text.count,
                UnsafeRawBufferPointer(rebasing: text[place..<end]).bytes.isEqual(to: pattern.bytes)
            else { return nil }
            return bounds.isBound(end) ? end : nil
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func starts(with other: [UInt8]) -> Bool {
        count >= other.count && UnsafeRawBufferPointer(rebasing: self[..<other.count]).bytes.isEqual(to: other)
    }

    fileprivate func ends(with other: [UInt8]) -> Bool {
        count >= other.count
            && UnsafeRawBufferPointer(rebasing: self[(count - other.count)...]).bytes.isEqual(to: other)
    }
}

/// The character boundaries in the folding of a UTF-8 text. Plain text without CR needs no table.
private struct CharacterBounds {
    private let text: UnsafeRawBufferPointer
    /// For each byte, whether a character begins with it; nil if each Unicode scalar is a character.
    private let begins: [Bool]?

    /// Finds the boundaries in a text's folding; `original` is the text before folding.
    init(_ text: UnsafeRawBufferPointer, of original: UnsafeRawBufferPointer, _ folding: TextFolding) {
        self.text = text
        if original.isPlainText && !original.contains(0x0D) {
            begins = nil
            return
        }
        let characters = String(decoding: text, as: UTF8.self)
        begins =
            folding.isEmpty
            ? Self.marks(of: characters.lazy.map(\.utf8.count), text.count)
            : Self.marks(of: Self.folded(original, characters.map(\.utf8.count), folding), text.count)
    }

    /// The lengths in bytes of the original's characters after folding. `lengths` are those of the folded text's own
    /// characters.
    ///
    /// Folding may turn one character into several. If the counts are equal, the characters are taken to correspond.
    private static func folded(
        _ original: UnsafeRawBufferPointer, _ lengths: [Int], _ folding: TextFolding
    ) -> [Int] {
        let characters = String(decoding: original, as: UTF8.self)
        if characters.count == lengths.count { return lengths }
        let foldedApart = characters.map { folding.fold(String($0)).count }
        // Characters may fold differently together than alone. If the total lengths differ for that reason, the folded
        // text's own characters are used.
        return foldedApart.reduce(0, +) == lengths.reduce(0, +) ? foldedApart : lengths
    }

    private static func marks(of lengths: some Sequence<Int>, _ count: Int) -> [Bool] {
        var begins = [Bool](repeating: false, count: count + 1)
        var place = 0
        for length in lengths {
            if place < begins.count { begins[place] = true }
            place += length
        }
        begins[count] = true
        return begins
    }

    func isBound(_ place: Int) -> Bool {
        if let begins { return begins[place] }
        return place == text.count || text[place] & 0xC0 != 0x80
    }

    /// The next character boundary after an offset that is before the end.
    func next(after place: Int) -> Int {
        var next = place + 1
        while !isBound(next) { next += 1 }
        return next
    }
}
