internal import FetchIndexPlatform
internal import FetchIndexValues

/// A text operator with a constant on its right side, prepared for many rows: the constant is folded, and a regular
/// expression is compiled.
///
/// It is a class, so that the evaluation of a row retains one object instead of each of the test's parts.
package final class TextTest: Sendable {
    private enum Kind: Sendable {
        case order(Comparator)
        case contains
        case beginsWith
        case endsWith
        case isIn
        case like(LikePattern)
        case matches(RegularExpression)
        /// Fails for every text. The operator has an empty constant: like in NSPredicate, no text contains, begins with
        /// or ends with the empty text.
        case nothing
    }

    private let kind: Kind
    /// The folded constant of a comparison, CONTAINS, BEGINSWITH or ENDSWITH.
    private let bytes: [UInt8]
    /// The pattern of CONTAINS, otherwise empty. It isn't part of `kind`, because each evaluation would retain it, and
    /// threads would contend for its reference count.
    private let pattern: BytePattern
    /// The sorted, folded constants of `isIn`.
    private let texts: [[UInt8]]
    private let folding: TextFolding

    private init(_ kind: Kind, of bytes: [UInt8] = [], texts: [[UInt8]] = [], folding: TextFolding) {
        self.kind = kind
        self.bytes = bytes
        if case .contains = kind { pattern = BytePattern(bytes) } else { pattern = BytePattern([]) }
        self.texts = texts
        self.folding = folding
    }

    /// Prepares a test. Throws if the pattern of MATCHES isn't a valid regular expression.
    convenience init(_ comparator: Comparator, _ pattern: String, _ folding: TextFolding) throws {
        switch comparator {
        case .contains where pattern.isEmpty, .beginsWith where pattern.isEmpty, .endsWith where pattern.isEmpty:
            self.init(.nothing, folding: folding)
        case .contains: self.init(.contains, of: folding.fold(pattern), folding: folding)
        case .beginsWith: self.init(.beginsWith, of: folding.fold(pattern), folding: folding)
        case .endsWith: self.init(.endsWith, of: folding.fold(pattern), folding: folding)
        case .like: self.init(.like(LikePattern(pattern, folding)), folding: folding)
        case .matches:
            let isCaseInsensitive = folding.contains(.caseInsensitive)
            let folding = folding.subtracting(.caseInsensitive)
            let pattern = String(decoding: folding.fold(pattern), as: UTF8.self)
            let expression: RegularExpression
            do {
                expression = try RegularExpression(pattern, isCaseInsensitive: isCaseInsensitive)
            } catch {
                throw FetchPredicateError.invalidPattern("\(error)")
            }
            self.init(.matches(expression), folding: folding)
        default: self.init(.order(comparator), of: folding.fold(pattern), folding: folding)
        }
    }

    /// Makes a test that passes for each text of a list. Testing a text takes O(log n) comparisons with the list's n
    /// texts.
    convenience init(oneOf texts: [String], _ folding: TextFolding) {
        self.init(.isIn, texts: texts.map(folding.fold).sorted { $0.lexicographicallyPrecedes($1) }, folding: folding)
    }

    /// The list or range of texts, sorted by code points, that contains all texts that pass; nil if the test doesn't
    /// imply one.
    var demand: AttributeConstraint.Demand? {
        guard folding.isEmpty else { return nil }
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        switch kind {
        case .order(let comparator): return .init(comparator, .string(text(bytes)))
        case .beginsWith: return .prefix(text(bytes))
        case .isIn: return .values(texts.map { .string(text($0)) })
        case .nothing: return .values([])
        default: return nil
        }
    }

    /// The comparator and the text, if the test is a comparison without folding; otherwise nil.
    var relation: (comparator: Comparator, text: String)? {
        guard folding.isEmpty, case .order(let comparator) = kind else { return nil }
        return (comparator, String(decoding: bytes, as: UTF8.self))
    }

    package func matches(_ text: String) throws -> Bool {
        var text = text
        return try text.withUTF8 { try matches(UnsafeRawBufferPointer($0).bytes) }
    }

    /// Whether a value is a text or a URL that passes the test. Throws if a pattern takes too much time or memory.
    func holds(_ value: PredicateValue) throws -> Bool {
        guard let text = value.value?.searchedText else { return false }
        return try matches(text)
    }

    /// Whether a UTF-8 text passes the test. O(length of the text) for most tests, which allocate no memory for a short
    /// plain text. Throws if a pattern takes too much time or memory.
    package func matches(_ text: RawSpan) throws -> Bool {
        if folding.isEmpty { return try matchesFolded(text, of: text) }
        return try folding.withFolded(text) { try matchesFolded($0, of: text) }
    }

    private func matchesFolded(_ text: RawSpan, of original: RawSpan) throws -> Bool {
        switch kind {
        case .order(.equal): text.isEqual(to: bytes)
        case .order(let comparator): comparator.holds(bytes.withUnsafeBytes { text.compare($0.bytes) })
        case .contains: try pattern.isContained(in: text)
        case .beginsWith:
            bytes.count <= text.byteCount
                && text.extracting(first: bytes.count).isEqual(to: bytes)
        case .endsWith:
            bytes.count <= text.byteCount
                && text.extracting(last: bytes.count).isEqual(to: bytes)
        case .isIn: find(text)
        case .nothing: false
        case .like(let pattern): try pattern.matches(text, of: original, folding)
        case .matches(let expression): try Self.matches(expression, text)
        }
    }

    private static func matches(_ expression: RegularExpression, _ text: RawSpan) throws -> Bool {
        do { return try expression.matches(text) } catch { throw FetchPredicateError.patternTimeout("\(error)") }
    }

    private func find(_ text: RawSpan) -> Bool {
        let place = texts.indices.firstNumber { index in
            texts[index].withUnsafeBytes { $0.bytes.compare(text) >= 0 }
        }
        return place < texts.count && text.isEqual(to: texts[place])
    }
}

extension RawSpan {
    func isEqual(to bytes: [UInt8]) -> Bool { isEqual(to: bytes.span.bytes) }
}
