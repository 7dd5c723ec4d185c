internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexInspection

/// Appends values as JSON to bytes. Escapes control and hidden characters of texts, because they could control a
/// terminal or deceive a reader.
enum JSONText {
    private static let quotation = UInt8(ascii: "\"")

    static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .boolean(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let number): append(number, to: &bytes)
        case .double(let number) where number.isFinite: bytes.append(contentsOf: value.description.utf8)
        case .decimal(let number) where !number.isNaN: bytes.append(contentsOf: value.description.utf8)
        default: append(value.description, to: &bytes)
        }
    }

    /// Appends a value in the form that `JSONValue` has in documents, which Foundation's encoder writes: decimals are
    /// strings, and large doubles have exponents.
    static func append(encoded value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null, .boolean, .integer: append(value, to: &bytes)
        case .double(let number) where number.isFinite:
            let text = number.description
            bytes.append(contentsOf: text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...])
        default: append(encoded: value.description, to: &bytes)
        }
    }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0), to: &bytes) }
    }

    /// Appends a text with the escapes of Foundation's encoder: also a backspace and a form feed have short ones.
    static func append(encoded text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0), to: &bytes, hasAllShortEscapes: true) }
    }

    /// Appends a text in quotation marks.
    static func append(
        _ text: UnsafeRawBufferPointer, to bytes: inout [UInt8], hasAllShortEscapes: Bool = false
    ) {
        bytes.append(quotation)
        if text.allSatisfy(isPlain), !HiddenCharacters.mayBeIn(text) {
            bytes.append(contentsOf: text)
        } else {
            appendEscaped(String(decoding: text, as: UTF8.self), hasAllShortEscapes, to: &bytes)
        }
        bytes.append(quotation)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != quotation && byte != UInt8(ascii: "\\")
    }

    private static func appendEscaped(_ text: String, _ hasAllShortEscapes: Bool, to bytes: inout [UInt8]) {
        // Nil after an escaped character.
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            let isHidden = scalar.isControl || scalar.isHidden(after: previous)
            previous = isHidden ? nil : scalar
            switch scalar {
            case "\"", "\\":
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(ascii: scalar))
            case "\n": bytes.append(contentsOf: "\\n".utf8)
            case "\r": bytes.append(contentsOf: "\\r".utf8)
            case "\t": bytes.append(contentsOf: "\\t".utf8)
            case "\u{8}" where hasAllShortEscapes: bytes.append(contentsOf: "\\b".utf8)
            case "\u{C}" where hasAllShortEscapes: bytes.append(contentsOf: "\\f".utf8)
            case _ where isHidden:
                bytes.append(contentsOf: scalar.escapedForJSON.utf8)
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
    }

    static func append(_ number: some BinaryInteger, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: String(number).utf8)
    }
}
