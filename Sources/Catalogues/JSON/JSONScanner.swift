internal import FetchIndexPlatform
/// Reads a JSON object (RFC 8259), strictly and without recursion. A list or an object as a value is an error, unless it
/// is read as text, or the caller reads it by `object`.
///
/// A duplicate member is an error, too, because the RFC doesn't say which of the two counts. Objects that are read as
/// text aren't checked for duplicates.
struct JSONScanner {
    /// A description of an error: "at byte 7 there is an unpaired surrogate".
    struct Fault: Error, CustomStringConvertible {
        let offset: Int
        let what: String
        var description: String { "at byte \(offset + 1) there is \(what)" }
    }

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// Throws if the bytes aren't UTF-8, so that texts needn't be checked again.
    init(_ bytes: UnsafeRawBufferPointer) throws(Fault) {
        self.bytes = bytes
        if let invalid = bytes.firstInvalidUTF8 { throw Fault(offset: invalid, what: "text that is not UTF-8") }
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    var isAtEnd: Bool { next == nil }

    func fault(_ what: String) -> Fault { Fault(offset: offset, what: next == nil ? "the end" : what) }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
    }

    mutating func nextAfterBlanks() -> UInt8? {
        skipBlanks()
        return next
    }

    /// Skips blanks, runs the body, and appends the bytes that it consumed.
    mutating func copy(_ text: inout [UInt8], _ body: (inout JSONScanner) throws(Fault) -> Void) throws(Fault) {
        skipBlanks()
        let start = offset
        try body(&self)
        text.append(contentsOf: bytes[start..<offset])
    }

    /// Skips blanks, and a byte if it is next. Returns whether it was.
    mutating func skip(_ byte: UInt8) -> Bool {
        skipBlanks()
        guard next == byte else { return false }
        offset += 1
        return true
    }

    /// Reads a line that consists of one object.
    mutating func wholeObject(_ member: (String, inout JSONScanner) throws -> Void) throws {
        try object(member)
        try requireEnd()
    }

    /// Throws if anything except blanks follows the object.
    mutating func requireEnd() throws(Fault) {
        skipBlanks()
        if next != nil { throw fault("something after the object") }
    }

    /// Calls the body with the name of each member; the body reads the value.
    mutating func object(_ member: (String, inout JSONScanner) throws -> Void) throws {
        var names: Set<String> = []
        try members { name, start, scanner in
            let name = name.string
            guard names.insert(name).inserted else { throw Fault(secondMember: name, at: start) }
            if names.count > CatalogueInput.maximumColumns { throw Fault(tooManyMembersAt: start) }
            try member(name, &scanner)
        }
    }

    /// Calls the body with the name and the offset of each member; the body reads the value, and must refuse duplicate
    /// names.
    mutating func members(_ member: (JSONText, Int, inout JSONScanner) throws -> Void) throws {
        guard skip(UInt8(ascii: "{")) else { throw fault("no object") }
        if skip(UInt8(ascii: "}")) { return }
        repeat {
            skipBlanks()
            let start = offset
            guard next == UInt8(ascii: "\"") else { throw fault("no member's name") }
            let name = try uncopiedText()
            guard skip(UInt8(ascii: ":")) else { throw fault("no colon") }
            try member(name, start, &self)
        } while skip(UInt8(ascii: ","))
        guard skip(UInt8(ascii: "}")) else { throw fault("neither a comma nor the object's end") }
    }

    /// Reads a number, text, boolean or null.
    mutating func scalar() throws(Fault) -> JSONScalar { JSONScalar(try token()) }

    /// Reads a number, text, boolean or null. Only a text with escape sequences is copied.
    mutating func token() throws(Fault) -> JSONToken {
        skipBlanks()
        switch next {
        case UInt8(ascii: "\""): return .text(try uncopiedText())
        case UInt8(ascii: "t"):
            try skip("true")
            return .boolean(true)
        case UInt8(ascii: "f"):
            try skip("false")
            return .boolean(false)
        case UInt8(ascii: "n"):
            try skip("null")
            return .null
        case UInt8(ascii: "["), UInt8(ascii: "{"): throw fault("a list or an object")
        default: break
        }
        if let byte = next, byte == UInt8(ascii: "-") || byte.isDigit { return .number(try number()) }
        throw fault("no value")
    }

    /// Skips blanks, and null if it is next. Returns whether it was.
    mutating func skipNull() throws(Fault) -> Bool {
        skipBlanks()
        guard next == UInt8(ascii: "n") else { return false }
        try skip("null")
        return true
    }

    private mutating func skip(_ word: StaticString) throws(Fault) {
        for index in 0..<word.utf8CodeUnitCount {
            let place = offset + index
            guard place < bytes.count, bytes[place] == word.utf8Start[index] else { throw fault("no value") }
        }
        offset += word.utf8CodeUnitCount
    }

    // MARK: Numbers

    /// Reads a number, such as 12 or -1.5e+3, and returns its bytes.
    private mutating func number() throws(Fault) -> UnsafeRawBufferPointer {
        let start = offset
        if next == UInt8(ascii: "-") { offset += 1 }
        let first = next
        guard try skipDigits() == 1 || first != UInt8(ascii: "0") else {
            throw Fault(offset: start, what: "a number that begins with 0")
        }
        if next == UInt8(ascii: ".") {
            offset += 1
            _ = try skipDigits()
        }
        var hasExponent = false
        if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
            hasExponent = true
            offset += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
            _ = try skipDigits()
        }
        let digits = UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
        // Shorter numbers without an exponent are finite.
        if hasExponent || digits.count > 300, !JSONScalar.isFinite(String(decoding: digits, as: UTF8.self)) {
            throw Fault(offset: start, what: "a number that is too large")
        }
        return digits
    }

    private mutating func skipDigits() throws(Fault) -> Int {
        let start = offset
        while let byte = next, byte.isDigit { offset += 1 }
        if offset == start { throw fault("no digit") }
        return offset - start
    }

    // MARK: Texts

    /// Skips blanks and reads a text, without copying its bytes if it has no escape sequences.
    mutating func uncopiedText() throws(Fault) -> JSONText {
        skipBlanks()
        guard next == UInt8(ascii: "\"") else { throw fault("no text") }
        var end = offset + 1
        while end < bytes.count, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\"), bytes[end] >= 0x20
        {
            end += 1
        }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return .decoded(try text()) }
        defer { offset = end + 1 }
        return .written(UnsafeRawBufferPointer(rebasing: bytes[offset + 1..<end]))
    }

    /// Skips blanks and reads a text, beginning with its quotation mark.
    mutating func text() throws(Fault) -> String {
        skipBlanks()
        guard next == UInt8(ascii: "\"") else { throw fault("no text") }
        offset += 1
        var text = ""
        var start = offset
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text += String(decoding: bytes[start..<offset], as: UTF8.self)
                offset += 1
                if byte == UInt8(ascii: "\"") { return text }
                text.unicodeScalars.append(try escaped())
                start = offset
            case 0..<0x20: throw fault("a control character in a text")
            default: offset += 1
            }
        }
        throw fault("the end")
    }

    /// Decodes an escape sequence after its backslash.
    private mutating func escaped() throws(Fault) -> Unicode.Scalar {
        let start = offset - 1
        guard let byte = next else { throw fault("the end") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try codeUnit()
            if let scalar = Unicode.Scalar(unit) { return scalar }
            if unit < 0xDC00, next == UInt8(ascii: "\\") {
                offset += 1
                if next == UInt8(ascii: "u") {
                    offset += 1
                    let low = try codeUnit()
                    let pair = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) & 0x3FF)
                    if (0xDC00...0xDFFF).contains(low), let scalar = Unicode.Scalar(pair) { return scalar }
                }
            }
            throw Fault(offset: start, what: "an unpaired surrogate")
        default: throw Fault(offset: start, what: "an escape sequence that JSON does not have")
        }
    }

    private mutating func codeUnit() throws(Fault) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("no hexadecimal digit")
            }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension JSONScanner.Fault {
    init(secondMember name: String, at offset: Int) {
        self.init(offset: offset, what: "a second member \"\(name.excerpt)\"")
    }

    init(tooManyMembersAt offset: Int) {
        self.init(offset: offset, what: "more than \(CatalogueInput.maximumColumns) members")
    }
}
