internal import CFetchIndexPostgres

// PostgreSQL documentation, "Functions Associated with the COPY Command".
extension Connection {
    /// Executes a `COPY … TO STDOUT` and hands out each row.
    package func copyOut(_ command: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let result = try answer(to: PQsendQuery(raw, command))
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_OUT else { throw error(of: result) }
        do { while let row = try nextRow(waits: true) { try take(row, body) } } catch {
            // A server that doesn't answer would not cancel the command either.
            if isAbandoned { throw error }
            // Reads the remaining rows, which would otherwise be taken for the answer to the next command.
            cancel()
            while let row = try? nextRow(waits: true) { PQfreemem(row.baseAddress) }
            drain()
            throw error
        }
        while let ended = PQgetResult(raw) {
            defer { PQclear(ended) }
            if PQresultStatus(ended) != PGRES_COMMAND_OK { throw error(of: ended) }
        }
    }

    func take(_ row: UnsafeMutableRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        defer { PQfreemem(row.baseAddress) }
        try body(UnsafeRawBufferPointer(row))
    }

    /// Returns the next row. If `waits`, returns nil at the end of the copy. Otherwise returns nil if no row has
    /// arrived, and throws at the end of the stream.
    func nextRow(waits: Bool) throws -> UnsafeMutableRawBufferPointer? {
        var bytes: UnsafeMutablePointer<CChar>?
        var interruption: ContinuousClock.Instant?
        var length = PQgetCopyData(raw, &bytes, 1)
        while length == 0, waits {
            try waitForAnswer(&interruption)
            length = PQgetCopyData(raw, &bytes, 1)
        }
        if length == -2 { throw lost }
        guard length > 0 else {
            if length == -1 && !waits { throw ended() }
            return nil
        }
        return UnsafeMutableRawBufferPointer(start: bytes, count: Int(length))
    }

    func cancel() {
        guard let request = PQgetCancel(raw) else { return }
        var reason = [CChar](repeating: 0, count: 256)
        PQcancel(request, &reason, CInt(reason.count))
        PQfreeCancel(request)
    }

    func drain() { while let result = PQgetResult(raw) { PQclear(result) } }
}
