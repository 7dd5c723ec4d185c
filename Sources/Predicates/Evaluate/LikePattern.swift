internal import FetchIndexValues

/// A pattern of LIKE: `?` matches one character, `*` any number of them, and a backslash escapes the next character.
/// Characters are grapheme clusters, as in Swift: those of the original text, not of its folding, in which ß is two.
struct LikePattern: Sendable {
    private enum Piece: Sendable {
        /// Folded UTF-8 text.
        case text(BytePattern)
        case oneCharacter
        case anyCharacters

        var comparisons: Int {
            if case .text(let pattern) = self { 1 + pattern.bytes.count / 64 } else { 1 }
        }

        var isAnyCharacters: Bool { if case .anyCharacters = self { true } else { false } }
    }

    private let pieces: [Piece]
    /// The longest text of the pieces between the first one and the last one: most texts that don't match lack it.
    private let longest: BytePattern?
    /// The limit for finding out whether a text lacks `longest`; beyond it the whole pattern decides.
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

    /// Whether the whole text matches, given its folding in UTF-8 and the original. Backtracks only to the last `*`,
    /// and from there to the next place of the text behind it: O(length of text and pattern) for most, their product at
    /// worst. Throws if that takes too long.
    func matches(_ text: RawSpan, of original: RawSpan, _ folding: TextFolding) throws -> Bool {
        try text.withUnsafeBytes { text in
            // First the checks that cost less than finding where characters begin.
            if lacksText(text) { return false }
            let bounds = original.withUnsafeBytes { CharacterBounds(text, of: $0, folding) }
            var budget = ComparisonBudget("LIKE", of: text)
            var (piece, place) = (0, 0)
            // The piece behind the last `*`, and the place where it was last tried.
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
                // The text has this ending, as was checked first; it may only be at the end.
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

    /// Whether a text lacks a text that the pattern demands. Also false if that takes too long to find out.
    private func lacksText(_ text: UnsafeRawBufferPointer) -> Bool {
        if case .text(let beginning)? = pieces.first, !text.starts(with: beginning.bytes) { return true }
        if case .text(let ending)? = pieces.last, !text.ends(with: ending.bytes) { return true }
        guard let longest else { return false }
        var budget = ComparisonBudget("LIKE", of: text, Self.mostComparisonsOfLongest)
        do { return try longest.firstPlace(in: text, from: 0, &budget) == nil } catch { return false }
    }

    /// The first place, from a bound on, where a piece may match; nil if it matches nowhere.
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

    /// The end of a piece that matches at a place; nil if it doesn't match there.
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

/// The places in the folding of a UTF-8 text where the text's characters begin. Plain text without CR needs no table.
private struct CharacterBounds {
    private let text: UnsafeRawBufferPointer
    /// For each byte, whether a character begins there; nil if each scalar is a character.
    private let begins: [Bool]?

    /// Takes the folding of a text, and the text.
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

    /// The lengths of a text's characters in its folding. `lengths` has the lengths of the folding's own characters.
    ///
    /// A folding makes several characters of one, and never one of several: if the counts are equal, the characters
    /// correspond.
    private static func folded(
        _ original: UnsafeRawBufferPointer, _ lengths: [Int], _ folding: TextFolding
    ) -> [Int] {
        let characters = String(decoding: original, as: UTF8.self)
        if characters.count == lengths.count { return lengths }
        let foldedApart = characters.map { folding.fold(String($0)).count }
        // If the sums differ, characters fold differently side by side than apart.
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

    /// The bound after a place before the end.
    func next(after place: Int) -> Int {
        var next = place + 1
        while !isBound(next) { next += 1 }
        return next
    }
}
