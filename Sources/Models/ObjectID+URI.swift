public import FetchIndexEssentials

extension ObjectID {
    private static let scheme = "fetchindex"

    /// The id as a URI, by which other processes find the object in the store:
    /// `fetchindex://STORE/entity number/object number/entity name`. Nil for a temporary id.
    public var uriRepresentation: URL? {
        if isTemporary { return nil }
        let name = PercentEncoding.encode(entityName)
        let store = storeIdentifier?.uuidString.lowercased() ?? ""
        return URL(string: "\(Self.scheme)://\(store)/\(key.entity)/\(number)/\(name)")
    }

    /// Reads an id from a URI; nil if the URI doesn't represent an id. Doesn't check whether the object exists.
    public init?(uriRepresentation uri: URL) {
        let parts = uri.absoluteString.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "\(Self.scheme):", parts[1].isEmpty, let entity = UInt16(parts[3]),
            let number = UInt64(parts[4]), 1..<RecordKey.firstTemporaryNumber ~= number,
            let name = PercentEncoding.decode(parts[5]), !name.isEmpty
        else { return nil }
        let store = UUID(uuidString: String(parts[2]))
        guard store != nil || parts[2].isEmpty else { return nil }
        self.init(RecordKey(entity: Int(entity), number: number), ObjectOrigin(store: store, entityName: name))
    }
}

/// Percent-encoding of a segment of a URI's path, without Foundation, whose own needs 30 MB of ICU's data.
/// https://www.rfc-editor.org/rfc/rfc3986#section-2.1
enum PercentEncoding {
    /// The characters of a segment that aren't encoded, beside letters and digits: those that Foundation leaves, too.
    private static let plain = Array("-._~!$&'()*+,=:@".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                bytes.append(byte)
            case _ where plain.contains(byte): bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns nil if a percent sign isn't followed by two hexadecimal digits, or if the bytes aren't UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst(),
                let left = Character(Unicode.Scalar(high)).hexDigitValue,
                let right = Character(Unicode.Scalar(low)).hexDigitValue
            else { return nil }
            bytes.append(UInt8(left << 4 | right))
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
