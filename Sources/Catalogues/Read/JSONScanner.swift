internal import FetchIndexPlatform
/// Reads a flat JSON object (RFC 8259), strictly and without recursion: nesting is an error.
///
/// A duplicate member is an error, too: the RFC leaves open which of the two counts.
struct JSONScanner {
    /// What is wrong: "at byte 7 there is an unpaired surrogate".
    struct Fault: Error, CustomStringConvertible {
        let offset: Int
        let what: String
        var description: String { "at byte \(offset + 1) there is \(what)" }
    }

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// Fails when the bytes are not UTF-8, so that texts need not be looked at again.
    init(_ bytes: UnsafeRawBufferPointer) throws(Fault) {
        self.bytes = bytes
        if let invalid = bytes.firstInvalidUTF8 { throw Fault(offset: invalid, what: "what is not UTF-8") }
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

    /// Appends the bytes that the body passes over, after blanks.
    mutating func copy(_ text: inout [UInt8], _ body: (inout JSONScanner) throws(Fault) -> Void) throws(Fault) {
        skipBlanks()
        let start = offset
        try body(&self)
        text.append(contentsOf: bytes[start..<offset])
    }

    /// After blanks.
    mutating func skip(_ byte: UInt8) -> Bool {
        skipBlanks()
        guard next == byte else { return false }
        offset += 1
        return true
    }

    /// The whole line is one object.
    mutating func wholeObject(_ member: (String, inout JSONScanner) throws -> Void) throws {
        try object(member)
        skipBlanks()
        if next != nil { throw fault("more than one object") }
    }

    /// Calls the body with the name of each member; it reads the value.
    mutating func object(_ member: (String, inout JSONScanner) throws -> Void) throws {
        guard skip(UInt8(ascii: "{")) else { throw fault("no object") }
        if skip(UInt8(ascii: "}")) { return }
        var names: Set<String> = []
        repeat {
            skipBlanks()
            let start = offset
            guard next == UInt8(ascii: "\"") else { throw fault("no member's name") }
            let name = try text()
            guard names.insert(name).inserted else {
                throw Fault(offset: start, what: "a second member \"\(name.excerpt)\"")
            }
            if names.count > CatalogueInput.maximumColumns {
                throw Fault(offset: start, what: "more than \(CatalogueInput.maximumColumns) members")
            }
            guard skip(UInt8(ascii: ":")) else { throw fault("no colon") }
            try member(name, &self)
        } while skip(UInt8(ascii: ","))
        guard skip(UInt8(ascii: "}")) else { throw fault("neither a comma nor the object's end") }
    }

    /// A number, text, boolean or null.
    mutating func scalar() throws(Fault) -> JSONScalar {
        skipBlanks()
        switch next {
        case UInt8(ascii: "\""): return .string(try text())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "["), UInt8(ascii: "{"): throw fault("a list or an object")
        default: break
        }
        if let byte = next, byte == UInt8(ascii: "-") || byte.isDigit { return try number() }
        throw fault("no value")
    }

    /// After blanks: whether null comes, which is passed over.
    mutating func skipNull() throws(Fault) -> Bool {
        skipBlanks()
        guard next == UInt8(ascii: "n") else { return false }
        _ = try word("null", .null)
        return true
    }

    private mutating func word(_ word: StaticString, _ value: JSONScalar) throws(Fault) -> JSONScalar {
        for index in 0..<word.utf8CodeUnitCount {
            let place = offset + index
            guard place < bytes.count, bytes[place] == word.utf8Start[index] else { throw fault("no value") }
        }
        offset += word.utf8CodeUnitCount
        return value
    }

    // MARK: Numbers

    /// - digits . digits e digits
    private mutating func number() throws(Fault) -> JSONScalar {
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
        if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
            offset += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
            _ = try skipDigits()
        }
        guard let scalar = JSONScalar(number: String(decoding: bytes[start..<offset], as: UTF8.self)) else {
            throw Fault(offset: start, what: "a number that is too large")
        }
        return scalar
    }

    private mutating func skipDigits() throws(Fault) -> Int {
        let start = offset
        while let byte = next, byte.isDigit { offset += 1 }
        if offset == start { throw fault("no digit") }
        return offset - start
    }

    // MARK: Texts

    /// From the quotation mark on.
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

    /// What a backslash, already read, stands for with what follows.
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
