internal import FetchIndexPlatform
internal import FetchIndexValues

/// Converts arrays from PostgreSQL's text to JSON: `{1,NULL,"a b"}` becomes `[1,null,"a b"]`. Numbers, truth values and JSON
/// stay what they are; elements of other types become texts. PostgreSQL documentation, "Array Input and Output Syntax".
struct ArrayText {
    private let bytes: UnsafeRawBufferPointer
    private let element: UInt32
    private var place = 0
    private var json: [UInt8] = []
    /// Only the type box has another delimiter than a comma.
    private var delimiter: Unicode.Scalar { element == 603 ? ";" : "," }
    /// PostgreSQL's arrays have at most 6 dimensions.
    private static let mostLevels = 6

    /// The JSON of an array whose elements have a type, given by its number (OID). Nil for other texts.
    static func json(_ text: UnsafeRawBufferPointer, of element: UInt32) -> [UInt8]? {
        guard text.firstInvalidUTF8 == nil else { return nil }
        var reader = ArrayText(text, element)
        reader.skipBounds()
        return reader.array(level: 1) && reader.place == text.count ? reader.json : nil
    }

    private init(_ bytes: UnsafeRawBufferPointer, _ element: UInt32) { (self.bytes, self.element) = (bytes, element) }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skip(_ letter: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: letter) else { return false }
        place += 1
        return true
    }

    /// Skips bounds that don't begin with 1: `[0:1]={...}`.
    private mutating func skipBounds() {
        guard next == UInt8(ascii: "[") else { return }
        place = (bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.count - 1) + 1
    }

    private mutating func array(level: Int) -> Bool {
        guard level <= Self.mostLevels, skip("{") else { return false }
        json.append(UInt8(ascii: "["))
        var isFirst = true
        while !skip("}") {
            if !isFirst {
                guard skip(delimiter) else { return false }
                json.append(UInt8(ascii: ","))
            }
            isFirst = false
            guard next == UInt8(ascii: "{") ? array(level: level + 1) : value() else { return false }
        }
        json.append(UInt8(ascii: "]"))
        return true
    }

    private mutating func value() -> Bool {
        var text: [UInt8] = []
        guard skip("\"") else {
            while let byte = next, byte != UInt8(ascii: delimiter), byte != UInt8(ascii: "}") {
                text.append(byte)
                place += 1
            }
            if text.elementsEqual("NULL".utf8) { json += "null".utf8 } else { append(text) }
            return !text.isEmpty
        }
        while !skip("\"") {
            if next == UInt8(ascii: "\\") { place += 1 }
            guard let byte = next else { return false }
            text.append(byte)
            place += 1
        }
        append(text)
        return true
    }

    /// The types json and jsonb.
    private static let jsonTypes: [UInt32] = [114, 3802]

    private mutating func append(_ text: [UInt8]) {
        switch ColumnValue.type(of: element) {
        case .boolean: json += (text == [UInt8(ascii: "t")] ? "true" : "false").utf8
        case .integer: json += text
        // JSON has no NaN and no infinities.
        case .double where Self.isNumber(text), .decimal where Self.isNumber(text): json += text
        default:
            if Self.jsonTypes.contains(element) { json += text } else { appendText(text) }
        }
    }

    private static func isNumber(_ text: [UInt8]) -> Bool { text.last.map { (48...57).contains($0) } ?? false }

    private mutating func appendText(_ text: [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): json += "\\n".utf8
            case UInt8(ascii: "\t"): json += "\\t".utf8
            case UInt8(ascii: "\r"): json += "\\r".utf8
            case 0..<32:
                let digits = String(byte, radix: 16)
                json += ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8
            default: json.append(byte)
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}
