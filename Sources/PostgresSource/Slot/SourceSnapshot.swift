/// A snapshot of the source: the transactions whose changes the rows of a copy have. Numbers of transactions have 32
/// bits, as in the stream, and wrap around.
/// PostgreSQL documentation, "Transaction ID and Snapshot Information Functions".
package struct SourceSnapshot: Equatable, Sendable {
    private let text: String
    private let end: UInt32
    private let open: Set<UInt32>

    /// Reads xmin:xmax:xip,xip…; nil for another text.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        func number(_ text: Substring) -> UInt32? { UInt64(text).map { UInt32(truncatingIfNeeded: $0) } }
        guard parts.count == 3, let end = number(parts[1]) else { return nil }
        (self.text, self.end) = (text, end)
        open = Set(parts[2].split(separator: ",").compactMap(number))
    }

    /// Whether the snapshot shows a transaction that has committed.
    package func shows(_ transaction: UInt32) -> Bool {
        Int32(bitPattern: transaction &- end) < 0 && !open.contains(transaction)
    }
}

// The stored form: the text.
extension SourceSnapshot: Codable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        guard let snapshot = SourceSnapshot(try value.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "this is not a snapshot")
        }
        self = snapshot
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(text)
    }
}
