internal import Bytes
internal import Values
internal import SystemBasics

/// What an operator asks of a text whose other side is a constant, prepared once: the constant is folded, and a regular
/// expression compiled.
package struct TextTest: Sendable {
    private enum Kind: Sendable {
        case order(Comparator, [UInt8])
        case contains([UInt8])
        case beginsWith([UInt8])
        case endsWith([UInt8])
        /// Sorted.
        case isIn([[UInt8]])
        case like(LikePattern)
        case matches(RegularExpression)
        /// As NSPredicate has it: an empty text is contained in no text, and begins and ends none.
        case nothing
    }

    private let kind: Kind
    private let folding: TextFolding

    /// Throws when the pattern of MATCHES is no regular expression.
    init(_ comparator: Comparator, _ pattern: String, _ folding: TextFolding) throws {
        self.folding = comparator == .matches ? folding.subtracting(.caseInsensitive) : folding
        switch comparator {
        case .contains where pattern.isEmpty, .beginsWith where pattern.isEmpty, .endsWith where pattern.isEmpty:
            kind = .nothing
        case .contains: kind = .contains(folding.fold(pattern))
        case .beginsWith: kind = .beginsWith(folding.fold(pattern))
        case .endsWith: kind = .endsWith(folding.fold(pattern))
        case .like: kind = .like(LikePattern(pattern, folding))
        case .matches:
            let pattern = String(decoding: self.folding.fold(pattern), as: UTF8.self)
            do {
                kind = .matches(try RegularExpression(pattern, isCaseInsensitive: folding.contains(.caseInsensitive)))
            } catch {
                throw FetchPredicateError.invalidPattern("\(error)")
            }
        default: kind = .order(comparator, folding.fold(pattern))
        }
    }

    /// Whether it is one of some texts. O(log n) a test.
    init(oneOf texts: [String], _ folding: TextFolding) {
        self.folding = folding
        kind = .isIn(texts.map(folding.fold).sorted { $0.lexicographicallyPrecedes($1) })
    }

    /// What it demands of an attribute's order, which is by code point.
    var demand: AttributeConstraint.Demand? {
        guard folding.isEmpty else { return nil }
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        switch kind {
        case .order(let comparator, let bytes): return .init(comparator, .string(text(bytes)))
        case .beginsWith(let bytes): return .prefix(text(bytes))
        case .isIn(let texts): return .values(texts.map { .string(text($0)) })
        case .nothing: return .values([])
        default: return nil
        }
    }

    /// The comparator and the text of a comparison without folding; nil for other tests.
    var relation: (comparator: Comparator, text: String)? {
        guard folding.isEmpty, case .order(let comparator, let bytes) = kind else { return nil }
        return (comparator, String(decoding: bytes, as: UTF8.self))
    }

    func matches(_ text: String) throws -> Bool {
        var text = text
        return try text.withUTF8 { try matches(UnsafeRawBufferPointer($0).bytes) }
    }

    /// Whether a value is a text that passes the test.
    func holds(_ value: PredicateValue) throws -> Bool {
        guard case .one(.string(let text)) = value else { return false }
        return try matches(text)
    }

    /// Takes UTF-8. O(length of the text), without allocations for the texts of `TextFolding.withFolded`.
    package func matches(_ text: RawSpan) throws -> Bool {
        if folding.isEmpty { return try matchesFolded(text) }
        return try folding.withFolded(text) { try matchesFolded($0) }
    }

    private func matchesFolded(_ text: RawSpan) throws -> Bool {
        switch kind {
        case .order(.equal, let other): text.isEqual(to: other)
        case .order(let comparator, let other): comparator.holds(text.compare(other.span.bytes))
        case .contains(let pattern): try text.contains(pattern)
        case .beginsWith(let pattern):
            pattern.count <= text.byteCount && text.extracting(first: pattern.count).isEqual(to: pattern)
        case .endsWith(let pattern):
            pattern.count <= text.byteCount && text.extracting(last: pattern.count).isEqual(to: pattern)
        case .isIn(let texts): Self.find(text, in: texts)
        case .nothing: false
        case .like(let pattern): try pattern.matches(text)
        case .matches(let expression):
            try Self.matches(expression, text)
        }
    }

    private static func matches(_ expression: RegularExpression, _ text: RawSpan) throws -> Bool {
        do { return try expression.matches(text) } catch { throw FetchPredicateError.patternTimeout("\(error)") }
    }

    private static func find(_ text: RawSpan, in texts: [[UInt8]]) -> Bool {
        let place = texts.indices.firstNumber { index in
            texts[index].withUnsafeBytes { $0.bytes.compare(text) >= 0 }
        }
        return place < texts.count && text.isEqual(to: texts[place])
    }
}

extension RawSpan {
    func isEqual(to bytes: [UInt8]) -> Bool { isEqual(to: bytes.span.bytes) }

    /// Whether the bytes stand somewhere in these. Throws when that takes too long to find out.
    func contains(_ bytes: [UInt8]) throws -> Bool {
        try withUnsafeBytes { text in
            try bytes.withUnsafeBytes { wanted in
                guard let first = wanted.first, let pattern = wanted.baseAddress else { return true }
                guard var place = text.baseAddress else { return false }
                var comparisons = 0
                var left = text.count - wanted.count + 1
                while left > 0, let found = memchr(place, Int32(first), left) {
                    if memcmp(found, pattern, wanted.count) == 0 { return true }
                    comparisons += 1 + wanted.count / 64
                    if comparisons > LikePattern.maximumComparisons {
                        throw LikePattern.tooMuch("CONTAINS", textLength: text.count)
                    }
                    left -= place.distance(to: UnsafeRawPointer(found)) + 1
                    place = UnsafeRawPointer(found) + 1
                }
                return false
            }
        }
    }
}
