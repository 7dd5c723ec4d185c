/// Transactions of the source that may be in its log and not visible in it yet: a commit that waits for a standby is sent
/// first. A row that is read now may be older than what was received of them.
package struct UnseenTransactions {
    /// The numbers of received transactions, without their upper half, as the stream sends them.
    package private(set) var numbers: Set<UInt32> = []
    /// Whether an earlier process may have received others. All open transactions are waited for then, once.
    var includesEarlier = true

    /// The number of transactions from which on visible ones are forgotten.
    static let mostNumbers = 10_000

    package init() {}

    package mutating func insert(_ number: UInt32) { numbers.insert(number) }

    /// Forgets transactions, because the source's log is followed anew.
    mutating func removeAll() { numbers = [] }

    /// Forgets transactions that a snapshot shows: they are before its end and not open in it. Numbers wrap around.
    package mutating func removeVisible(before end: UInt32, open: Set<UInt32>) {
        numbers = numbers.filter { open.contains($0) || Int32(bitPattern: $0 &- end) >= 0 }
    }
}
