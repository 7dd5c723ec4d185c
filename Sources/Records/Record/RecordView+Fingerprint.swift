internal import FetchIndexEssentials
internal import FetchIndexPlatform
package import FetchIndexValues

extension RecordView {
    /// Appends the text that a fingerprint contains of the value in a slot: "-" for null; otherwise the number of bytes
    /// of the text, a colon and the text.
    ///
    ///     boolean         true or false
    ///     integer         12, -7
    ///     decimal         1.5, without needless zeros and exponent
    ///     double, date    its 8 bytes (IEEE 754, highest byte first) as 16 hexadecimal digits; dates in seconds since 2001
    ///     string, URL     as it is
    ///     UUID, data      as hexadecimal digits; UUIDs with hyphens
    ///
    /// Letters among the digits are small. The texts are chosen so that SQL can make them too.
    package func appendFingerprinted(_ slot: Int, as type: ValueType, to bytes: inout [UInt8]) throws {
        guard let range = try range(of: slot) else { return bytes.append(UInt8(ascii: "-")) }
        switch type {
        case .boolean: Self.append(try boolean(range) ? "true" : "false", to: &bytes)
        case .integer: Self.append("\(try integer(range))", to: &bytes)
        case .double, .date:
            let double = try double(range)
            // Not-a-numbers of all kinds are equal.
            let bits = double.isNaN ? Double.nan.bitPattern : double.bitPattern
            bytes.append(contentsOf: "16:".utf8)
            withUnsafeBytes(of: bits.bigEndian) { Self.append(hexOf: $0.bytes, to: &bytes) }
        case .string, .url:
            bytes.append(contentsOf: "\(range.count):".utf8)
            bytes.appendBytes(self.bytes(range))
        case .data:
            bytes.append(contentsOf: "\(2 * range.count):".utf8)
            Self.append(hexOf: self.bytes(range), to: &bytes)
        case .uuid:
            guard range.count == 16 else { throw StoreError.corrupted("a UUID has \(range.count) bytes") }
            bytes.append(contentsOf: "36:".utf8)
            let uuid = self.bytes(range)
            var start = 0
            for length in [4, 2, 2, 2, 6] {
                if start > 0 { bytes.append(UInt8(ascii: "-")) }
                Self.append(hexOf: uuid.extracting(start..<start + length), to: &bytes)
                start += length
            }
        case .decimal:
            var text: [UInt8] = []
            let isNumber = self.bytes(range).withUnsafeBytes { stored in
                guard let number = NumberText(stored) else { return false }
                number.appendPlain(to: &text)
                return true
            }
            guard isNumber else { throw StoreError.corrupted("a decimal cannot be read") }
            bytes.append(contentsOf: "\(text.count):".utf8)
            bytes += text
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "\(text.utf8.count):".utf8)
        bytes.append(contentsOf: text.utf8)
    }

    private static func append(hexOf value: RawSpan, to bytes: inout [UInt8]) {
        for offset in 0..<value.byteCount {
            let byte = value.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            bytes.append(digit(byte >> 4))
            bytes.append(digit(byte & 15))
        }
    }

    private static func digit(_ number: UInt8) -> UInt8 {
        number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
    }
}
