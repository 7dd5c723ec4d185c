/// A value of a flat JSON object. Numbers, and texts without escape sequences, point to their bytes in the line, and
/// are valid as long as these bytes are.
enum JSONToken {
    case null
    case boolean(Bool)
    /// The number as written in the file.
    case number(UnsafeRawBufferPointer)
    case text(JSONText)
}

/// A text of JSON.
enum JSONText {
    /// The bytes between the quotation marks, which have no escape sequences.
    case written(UnsafeRawBufferPointer)
    case decoded(String)

    var string: String {
        switch self {
        case .written(let bytes): String(decoding: bytes, as: UTF8.self)
        case .decoded(let text): text
        }
    }

    /// Calls the body with the text's UTF-8 bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch self {
        case .written(let bytes): return try body(bytes)
        case .decoded(var text): return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
        }
    }
}
