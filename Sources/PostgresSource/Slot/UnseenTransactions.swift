/// Received transactions that may not be visible in the source yet: the source may send a commit that still waits for
/// a synchronous standby. A row that is read from the source's table now may be older than the row that the stream has
/// sent.
package struct UnseenTransactions {
    /// The numbers of received transactions. Like in the stream, they lack their upper half.
    package private(set) var numbers: Set<UInt32> = []
    /// Whether an earlier process may have received further transactions. If so, the first copy waits until all open
    /// writing transactions have ended.
    var includesEarlier = true

    /// If there are more transactions than this, those that have become visible are forgotten.
    static let mostNumbers = 10_000

    package init() {}

    package mutating func insert(_ number: UInt32) { numbers.insert(number) }

    /// Forgets all transactions.
    mutating func removeAll() { numbers = [] }

    /// Forgets transactions that a snapshot shows: they are before its end and not open in it. Numbers wrap around.
    package mutating func removeVisible(before end: UInt32, open: Set<UInt32>) {
        numbers = numbers.filter { open.contains($0) || Int32(bitPattern: $0 &- end) >= 0 }
    }
}
