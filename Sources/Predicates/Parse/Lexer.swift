internal import FetchIndexEssentials
internal import FetchIndexValues

/// Splits a predicate format into tokens. It works on Unicode scalars, so that a quote followed by a combining mark is
/// still a quote.
struct Lexer {
    /// The maximum length of a format, in Unicode scalars. Large lists of values should be passed as arguments.
    static let maximumLength = 16 << 20

    private let characters: [Unicode.Scalar]
    private var index = 0

    init(_ format: String) throws(FetchPredicateError) {
        characters = Array(format.unicodeScalars.prefix(Self.maximumLength + 1))
        if characters.count > Self.maximumLength {
            throw .unexpected(
                position: characters.count, found: "more text",
                expected: "the end of a predicate, after at most \(Self.maximumLength) characters,")
        }
    }

    // ASCII is tested without Unicode tables.

    static func startsName(_ character: Unicode.Scalar) -> Bool {
        if character.isASCII { return character.value | 0x20 &- 97 < 26 || character == "_" }
        return character.properties.isIDStart
    }

    static func continuesName(_ character: Unicode.Scalar) -> Bool {
        if character.isASCII { return startsName(character) || character.value &- 48 < 10 }
        return character.properties.isIDContinue
    }

    private static func isBlank(_ character: Unicode.Scalar) -> Bool {
        if character.isASCII { return character == " " || (9...13).contains(character.value) }
        return character.properties.isWhitespace
    }

    private var next: Unicode.Scalar? { index < characters.count ? characters[index] : nil }

    private func character(after count: Int) -> Unicode.Scalar? {
        index + count < characters.count ? characters[index + count] : nil
    }

    mutating func nextToken() throws(FetchPredicateError) -> Token {
        while let next, Self.isBlank(next) { index += 1 }
        let start = index
        let kind = try kind()
        return Token(kind: kind, position: start + 1, text: text(start..<index))
    }

    private func text(_ range: Range<Int>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: characters[range])
        return String(text)
    }

    private mutating func kind() throws(FetchPredicateError) -> Token.Kind {
        guard let next else { return .end }
        if Self.startsName(next) { return name() }
        if isDigit(next) || next == "." && isDigit(character(after: 1)) { return try number() }
        switch next {
        case "\"", "'": return .string(try string(closing: next))
        case "`":
            let name = try string(closing: "`")
            guard !name.isEmpty else { throw unexpected("``", "a name", at: index - 2) }
            return .name(name)
        case "#":
            index += 1
            guard let next = self.next, Self.startsName(next) else {
                throw unexpected("#", "# followed by a name", at: index - 1)
            }
            return .name(word())
        case "$":
            index += 1
            guard let next = self.next, Self.startsName(next) else {
                throw unexpected("$", "$ followed by a name", at: index - 1)
            }
            return .variable(word())
        case "%": return try argument()
        default: return try symbol()
        }
    }

    private func isDigit(_ character: Unicode.Scalar?) -> Bool { character.map { ("0"..."9").contains($0) } ?? false }

    private func unexpected(_ found: String, _ expected: String, at index: Int) -> FetchPredicateError {
        .unexpected(position: index + 1, found: found.shownExcerpt, expected: expected)
    }

    private mutating func word() -> String {
        let start = index
        while let next, Self.continuesName(next) { index += 1 }
        return text(start..<index)
    }

    /// Reads a name, a keyword, or a function's name. A function's name contains colons or is followed by a
    /// parenthesis.
    private mutating func name() -> Token.Kind {
        let word = word()
        if let keyword = Keyword(word) { return .keyword(keyword) }
        guard next != ":" else { return .function(word + labels()) }
        var following = index
        while following < characters.count, Self.isBlank(characters[following]) { following += 1 }
        return following < characters.count && characters[following] == "(" ? .function(word) : .name(word)
    }

    /// Reads the remaining part of a function's name, such as ":by:".
    private mutating func labels() -> String {
        let start = index
        while next == ":" {
            index += 1
            while let next, Self.continuesName(next) { index += 1 }
        }
        return text(start..<index)
    }

    private static let radixes: [Unicode.Scalar: Int] = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2]

    /// The number of decimal digits that a double always preserves.
    private static let digitsOfDouble = 15

    /// Reads a decimal number with optional fraction and exponent, or an integer in 0x, 0o or 0b notation.
    private mutating func number() throws(FetchPredicateError) -> Token.Kind {
        let start = index
        if next == "0", let marker = character(after: 1), let radix = Self.radixes[marker] {
            index += 2
            let digits = index
            while let next, Character(next).isHexDigit { index += 1 }
            if let value = Int64(text(digits..<index), radix: radix) { return .integer(value) }
            throw unexpected(text(start..<index), "a number that fits 64 bits", at: start)
        }
        while isDigit(next) { index += 1 }
        var isInteger = true
        if next == ".", isDigit(character(after: 1)) {
            isInteger = false
            index += 1
            while isDigit(next) { index += 1 }
        }
        if next == "e" || next == "E" {
            let signLength = character(after: 1) == "-" || character(after: 1) == "+" ? 1 : 0
            if isDigit(character(after: 1 + signLength)) {
                isInteger = false
                index += 1 + signLength
                while isDigit(next) { index += 1 }
            }
        }
        let text = text(start..<index)
        if isInteger, let value = Int64(text) { return .integer(value) }
        // The digits of the least integer exceed the greatest integer. `.integer(.min)` stands for them; the parser
        // reads it together with the minus sign.
        if isInteger, text == "9223372036854775808" { return .integer(.min) }
        if !isInteger, let value = Double(text), value.isFinite {
            // A number with more digits than a double preserves becomes a decimal, if `Decimal` can read it and its
            // value differs from the digits that the double prints.
            guard text.utf8.count(where: { (48...57).contains($0) }) > Self.digitsOfDouble,
                case .decimal(let exact) = Value(text, as: .decimal), exact.description != value.description,
                exact != Decimal(string: value.description)
            else { return .double(value) }
            return .decimal(exact)
        }
        throw unexpected(text, "a number that fits 64 bits", at: start)
    }

    private mutating func string(closing quote: Unicode.Scalar) throws(FetchPredicateError) -> String {
        let start = index
        var text = ""
        index += 1
        while let next {
            index += 1
            if next == quote { return text }
            text.unicodeScalars.append(next == "\\" && quote != "`" ? try escaped() : next)
        }
        throw unexpected("the end", "the \(quote) that matches the one at position \(start + 1)", at: index)
    }

    private mutating func escaped() throws(FetchPredicateError) -> Unicode.Scalar {
        guard let next else { throw unexpected("the end", "an escaped character", at: index) }
        index += 1
        switch next {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            let start = index - 2
            let unit = try hexadecimal(at: start)
            // A character beyond U+FFFF is written as two escaped UTF-16 units, as in JSON.
            guard UTF16.isLeadSurrogate(unit), self.next == "\\", character(after: 1) == "u" else {
                return try scalar([unit], at: start)
            }
            index += 2
            return try scalar([unit, try hexadecimal(at: start)], at: start)
        default: return next
        }
    }

    private mutating func hexadecimal(at start: Int) throws(FetchPredicateError) -> UInt16 {
        let digits = text(index..<min(index + 4, characters.count))
        guard digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
            throw unexpected("\\u", "\\u followed by four hexadecimal digits", at: start)
        }
        index += 4
        return unit
    }

    private func scalar(_ units: [UInt16], at start: Int) throws(FetchPredicateError) -> Unicode.Scalar {
        let text = String(decoding: units, as: UTF16.self)
        guard let scalar = text.unicodeScalars.first, text.utf16.elementsEqual(units) else {
            throw unexpected("\\u", "a complete surrogate pair", at: start)
        }
        return scalar
    }

    /// The length modifiers of numbers in printf formats, the longest first.
    private static let lengths = ["hh", "ll", "h", "l", "q", "z", "t", "j", "L", ""]
    /// The printf conversions of integers and doubles.
    private static let numbers = Set("diuxXoDUOaAeEfFgG".unicodeScalars)
    /// The conversions of a value (@), a key path (K) and a text (s).
    private static let others: Set<Unicode.Scalar> = ["@", "K", "s"]

    private mutating func argument() throws(FetchPredicateError) -> Token.Kind {
        for length in Self.lengths {
            let end = index + 1 + length.utf8.count
            guard end < characters.count, text(index + 1..<end) == length else { continue }
            let letter = characters[end]
            if Self.numbers.contains(letter) || length.isEmpty && Self.others.contains(letter) {
                index = end + 1
                return .argument(length + String(letter))
            }
        }
        throw unexpected("%", "a placeholder like %@, %K or %d", at: index)
    }

    private mutating func symbol() throws(FetchPredicateError) -> Token.Kind {
        if index + 2 <= characters.count, Self.pairs.contains(text(index..<index + 2)) {
            index += 2
            return .symbol(text(index - 2..<index))
        }
        let single = text(index..<index + 1)
        guard "=<>!(){}[],-+*/&|^~.@".contains(single) else {
            throw unexpected("\"\(single)\"", "a part of a predicate", at: index)
        }
        index += 1
        return .symbol(single)
    }

    /// The symbols that have two characters.
    private static let pairs: Set = ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", "<<", ">>"]
}
