internal import FetchIndexPlatform

/// A transaction of the source as the stream has brought it.
struct StreamedTransaction {
    /// The position of its commit, and the one after it.
    let end: LogPosition
    let next: LogPosition
    let time: Double
    /// Its number in the source.
    let number: UInt32
    let messages: TransactionBuffer
}

/// The stream of a logical replication slot: whole transactions in the order of their commits. PostgreSQL documentation, 55.4 "Streaming
/// Replication Protocol" and 55.5 "Logical Streaming Replication Protocol".
final class ChangeStream {
    enum Event {
        case transaction(StreamedTransaction)
        /// All transactions of which the stream has something to say and that end before this position are here.
        case reached(LogPosition)
    }

    /// Messages of transactions that are written together: their changed pages are in memory until then.
    static let groupLength = 50_000
    private static let mostBytes = 32 << 20
    private static let backlogSeconds = 0.5
    private static let backlogPause: Int32 = 25
    private static let longestBacklogPause = Duration.milliseconds(500)
    /// The server ends a connection that it has not heard of for a minute, unless it is set otherwise.
    private static let reportInterval = Duration.seconds(5)
    /// A server that answers nothing for so long is gone.
    private static let mostSilence = Duration.seconds(60)

    private let connection: Connection
    private let folder: String
    private let groupLength: Int
    private var open: (end: LogPosition, number: UInt32, buffer: TransactionBuffer)?
    /// Up to where the server has sent its log.
    private(set) var sent: LogPosition
    /// Up to where what came is stored: what the server may forget.
    private var stored: LogPosition
    private var lastReport = ContinuousClock.now
    private var lastHeard = ContinuousClock.now
    private(set) var isReplyWanted = false

    /// A stream of what comes after a position; `begin` begins it. Transactions that are longer than memory wait in files in the folder.
    init(_ connection: Connection, from position: LogPosition, folder: String, groupLength: Int) {
        self.connection = connection
        (self.folder, self.groupLength, sent, stored) = (folder, groupLength, position, position)
    }

    /// Throws `SourceError`.
    func begin(slot: String, publication: String) throws {
        let position = stored
        try connection.startReplication(
            "START_REPLICATION SLOT \(slot.quotedName) LOGICAL \(position) "
                + "(proto_version '1', publication_names \(publication.quotedName.quotedText))")
        try report()
    }

    /// Waits for the next event, at most some milliseconds. Throws `SourceError` and `StreamMessage.Malformed`.
    func next(milliseconds: Int32) throws -> Event? {
        let now = ContinuousClock.now
        let wantsReply = now - lastHeard > Self.reportInterval
        if now - lastReport > Self.reportInterval || isReplyWanted { try report(wantsReply: wantsReply) }
        if let event = try take() { return event }
        let end = now + .milliseconds(milliseconds)
        // What comes may be a part of a transaction.
        while try connection.wait(milliseconds: max(0, Int32((end - .now) / .milliseconds(1)))) {
            if let event = try take() { return event }
            if ContinuousClock.now >= end { return nil }
        }
        if ContinuousClock.now - lastHeard > Self.mostSilence {
            throw SourceError(.connection, "the source has been silent for a minute")
        }
        return nil
    }

    /// A transaction with those that are here already behind it, as many as are written together. While these are old, more are waited
    /// for a moment: the larger the group, the fewer pages are written for each row.
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
            // One of nothing, too: there may be many.
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
                throw StreamMessage.Malformed("a transaction ends that has not begun")
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

    /// Notes up to where what came is on disk; told to the server now and then.
    func noteStored(_ position: LogPosition) { stored = max(stored, position) }

    /// Tells the server up to where it need not send again.
    func report(wantsReply: Bool = false) throws {
        var message: [UInt8] = [UInt8(ascii: "r")]
        // Written, flushed, applied.
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
