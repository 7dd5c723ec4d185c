internal import CFetchIndexPostgres
internal import FetchIndexCLibrary

// The stream of a slot, and notifications.
extension Connection {
    /// Executes a `START_REPLICATION`.
    func startReplication(_ command: String) throws {
        let result = try answer(to: PQsendQuery(raw, command))
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_BOTH else { throw error(of: result) }
    }

    /// Hands out a message of the stream without waiting; returns false if no message has arrived.
    func takeMessage(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        guard let message = try nextRow(waits: false) else { return false }
        try take(message, body)
        return true
    }

    /// SQLSTATE codes: the slot that the server waits for isn't in use, or doesn't exist.
    private static let waitingErrors = ["55000", "22023"]

    /// Returns the error for a stream that the server has ended.
    func ended() -> SourceError {
        guard let result = PQgetResult(raw) else { return lost }
        defer { PQclear(result) }
        if PQresultStatus(result) == PGRES_FATAL_ERROR {
            let error = error(of: result)
            // A server that shuts down while it waits for a standby (synchronized_standby_slots) sends one of these codes.
            // If the slot is lost, the next attempt says so.
            let isPassing = Self.waitingErrors.contains(error.code ?? "")
            return isPassing ? SourceError(.connection, error.reason, code: error.code) : error
        }
        return SourceError(.connection, "the source has ended the stream")
    }

    func send(_ message: [UInt8]) throws {
        let isSent = message.withUnsafeBytes { bytes in
            PQputCopyData(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count)) == 1
        }
        guard isSent, PQflush(raw) == 0 else { throw lost }
    }

    /// Discards the notifications that have arrived. If none has arrived, waits until the server sends something, at
    /// most the given time, and discards the notifications that arrive meanwhile.
    func waitForNotification(milliseconds: Int32) throws {
        if takeNotifications() { return }
        _ = try wait(milliseconds: milliseconds)
        _ = takeNotifications()
    }

    /// Discards the notifications that libpq has read. Returns false if it has read no notification.
    private func takeNotifications() -> Bool {
        var hasArrived = false
        while let notification = PQnotifies(raw) {
            PQfreemem(notification)
            hasArrived = true
        }
        return hasArrived
    }

    /// Waits until the server has sent something, at most the given time. Returns false if nothing has arrived at the
    /// socket within that time, or if a signal has ended the wait.
    func wait(milliseconds: Int32) throws -> Bool {
        var state = pollfd(fd: PQsocket(raw), events: Int16(POLLIN), revents: 0)
        let isReady = poll(&state, 1, milliseconds) > 0
        // This reads in any case, because the TLS layer may hold bytes that the socket doesn't show.
        guard PQconsumeInput(raw) == 1 else { throw lost }
        return isReady
    }
}
