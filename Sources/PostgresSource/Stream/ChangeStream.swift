internal import FetchIndexEssentials

/// A transaction of the source that the stream has sent.
struct StreamedTransaction {
    /// The position of the commit.
    let end: LogPosition
    /// The position after the commit.
    let next: LogPosition
    /// The time of the commit, in seconds since 1970.
    let time: Double
    /// The transaction's number in the source, without its upper half.
    let number: UInt32
    let messages: TransactionBuffer
}

/// The stream of a logical replication slot: whole transactions, in the order of their commits. It belongs to the
/// follower's thread. PostgreSQL documentation, "Streaming Replication Protocol" and "Logical Streaming Replication
/// Protocol".
final class ChangeStream {
    enum Event {
        case transaction(StreamedTransaction)
        /// The stream has sent all transactions that concern the publication and end before this position.
        case reached(LogPosition)
    }

    /// A group of transactions takes no further one once it has this many messages, because the pages that a group
    /// changes stay in memory until the commit.
    static let groupLength = 50_000
    private static let mostBytes = 32 << 20
    /// A transaction is part of a backlog if it was committed more than this many seconds ago.
    private static let backlogSeconds = 0.5
    /// The longest wait, in milliseconds, of a group for each further transaction of a backlog.
    private static let backlogPause: Int32 = 25
    /// A group no longer waits when this time has passed since its first transaction.
    private static let longestBacklogPause = Duration.milliseconds(500)
    /// The interval of reports. By default, a server ends a connection after a minute without a report.
    private static let reportInterval = Duration.seconds(5)
    /// A server that has sent nothing for this long is asked for an answer.
    private static let askInterval = Duration.seconds(2)
    /// A server that has sent nothing for this long is taken for lost.
    private static let mostSilence = Duration.seconds(60)

    private let connection: Connection
    private let folder: String
    private let groupLength: Int
    /// The transaction whose messages have arrived, but not yet its commit, if any.
    private var open: (end: LogPosition, number: UInt32, buffer: TransactionBuffer)?
    /// The position up to which the server has sent its log.
    private(set) var sent: LogPosition
    /// Flush position: the server may discard its log before it.
    private var stored: LogPosition
    /// When the flush position was last reported.
    private var lastReport = ContinuousClock.now
    /// When a message last arrived. If the server disappears, the connection may stay open: then only the silence shows
    /// it.
    private var lastHeard = ContinuousClock.now
    var silence: Duration { ContinuousClock.now - lastHeard }
    /// Whether the server has asked for a report.
    private(set) var isReplyWanted = false

    /// Makes a stream of the transactions after a position; `begin` starts it. Transactions that exceed their buffers
    /// are kept in temporary files in the folder.
    init(_ connection: Connection, from position: LogPosition, folder: String, groupLength: Int) {
        self.connection = connection
        (self.folder, self.groupLength, sent, stored) = (folder, groupLength, position, position)
    }

    /// Starts the stream. Throws `SourceError`.
    func begin(slot: String, publication: String) throws {
        let position = stored
        try connection.startReplication(
            "START_REPLICATION SLOT \(slot.quotedName) LOGICAL \(position) "
                + "(proto_version '1', publication_names \(publication.quotedName.quotedText))")
        try report()
    }

    /// Waits for the next event; returns nil if the wait ends without one. Throws `SourceError` and
    /// `StreamMessage.Malformed`.
    func next(milliseconds: Int32) throws -> Event? {
        let now = ContinuousClock.now
        let wantsReply = now - lastHeard > Self.askInterval
        if now - lastReport > (wantsReply ? Self.askInterval : Self.reportInterval) || isReplyWanted {
            try report(wantsReply: wantsReply)
        }
        if let event = try take() { return event }
        let end = now + .milliseconds(milliseconds)
        // The bytes that arrive may be only a part of a transaction, so several waits may be needed.
        while try connection.wait(milliseconds: max(0, Int32((end - .now) / .milliseconds(1)))) {
            if let event = try take() { return event }
            if ContinuousClock.now >= end { return nil }
        }
        if ContinuousClock.now - lastHeard > Self.mostSilence {
            throw SourceError(.connection, "the source has been silent for a minute")
        }
        return nil
    }

    /// Collects the group of transactions that are written together: `first`, and the transactions that have arrived
    /// after it, up to a limit. While the last transaction is part of a backlog, waits a moment for more: larger groups
    /// write fewer pages per row.
    func transactions(after first: StreamedTransaction) throws -> [StreamedTransaction] {
        var transactions = [first]
        var isBehind: Bool {
            Date().timeIntervalSince1970 - (transactions.last ?? first).time > Self.backlogSeconds
        }
        let end = ContinuousClock.now + Self.longestBacklogPause
        var (count, byteCount) = (first.messages.count, first.messages.byteCount)
        while count < groupLength, byteCount < Self.mostBytes,
            let event = try next(milliseconds: isBehind && ContinuousClock.now < end ? Self.backlogPause : 0)
        {
            guard case .transaction(let next) = event else { continue }
            transactions.append(next)
            // Empty transactions count, too, because there may be many.
            count += 1 + next.messages.count
            byteCount += next.messages.byteCount
        }
        return transactions
    }

    private func take() throws -> Event? {
        var event: Event?
        while event == nil {
            guard try connection.takeMessage({ event = try read($0) }) else { break }
        }
        if event != nil { lastHeard = .now }
        return event
    }

    private func read(_ bytes: UnsafeRawBufferPointer) throws -> Event? {
        lastHeard = .now
        var reader = MessageReader(bytes.bytes)
        switch try reader.byte() {
        case UInt8(ascii: "k"):
            sent = max(sent, try reader.position())
            _ = try reader.time()
            if try reader.byte() == 1 { isReplyWanted = true }
            return open == nil ? .reached(sent) : nil
        case UInt8(ascii: "w"):
            _ = try reader.position()
            sent = max(sent, try reader.position())
            _ = try reader.time()
            return try read(message: UnsafeRawBufferPointer(rebasing: bytes.suffix(reader.left)))
        case let kind: throw StreamMessage.Malformed("the stream has the unknown message \(kind)")
        }
    }

    private func read(message: UnsafeRawBufferPointer) throws -> Event? {
        switch message.first {
        case UInt8(ascii: "B"):
            guard open == nil, case .begin(let end, _, let number) = try StreamMessage(message.bytes) else {
                throw StreamMessage.Malformed("a transaction begins within another one")
            }
            open = (end, number, TransactionBuffer(folder: folder))
            return nil
        case UInt8(ascii: "C"):
            guard let ended = open, case .commit(let next, let time) = try StreamMessage(message.bytes) else {
                throw StreamMessage.Malformed("a commit comes outside of a transaction")
            }
            open = nil
            sent = max(sent, next)
            return .transaction(
                StreamedTransaction(
                    end: ended.end, next: next, time: time, number: ended.number, messages: ended.buffer))
        default:
            guard open != nil else { throw StreamMessage.Malformed("a row comes outside of a transaction") }
            try open?.buffer.append(message)
            return nil
        }
    }

    /// Raises the flush position, which the next report tells the server.
    func noteStored(_ position: LogPosition) { stored = max(stored, position) }

    /// Reports the flush position to the server, which is asked for an immediate answer if `wantsReply`.
    func report(wantsReply: Bool = false) throws {
        var message: [UInt8] = [UInt8(ascii: "r")]
        // The flush position is also reported as the position written and as the position applied.
        for _ in 0..<3 { message.append(bigEndian: stored.rawValue) }
        let microseconds = (Date().timeIntervalSince1970 - 946_684_800) * 1e6
        message.append(bigEndian: UInt64(max(0, microseconds)))
        message.append(wantsReply ? 1 : 0)
        try connection.send(message)
        lastReport = .now
        isReplyWanted = false
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: UInt64) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
