/// A position in the source's write-ahead log (LSN): the number of bytes before it. It is written as two hexadecimal
/// numbers, such as 16/B374D848. PostgreSQL documentation, "pg_lsn Type".
package struct LogPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let high = UInt32(parts[0], radix: 16), let low = UInt32(parts[1], radix: 16) else {
            return nil
        }
        rawValue = UInt64(high) << 32 | UInt64(low)
    }

    package var description: String {
        (String(rawValue >> 32, radix: 16) + "/" + String(rawValue & 0xFFFF_FFFF, radix: 16)).uppercased()
    }

    package static func < (left: LogPosition, right: LogPosition) -> Bool { left.rawValue < right.rawValue }
}
