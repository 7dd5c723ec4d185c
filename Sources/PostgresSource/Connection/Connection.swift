internal import CPostgres
internal import SystemBasics

/// A connection to a PostgreSQL server: libpq, "Database Connection Control Functions" and "Command Execution Functions". It belongs to one thread.
package final class Connection {
    private let raw: OpaquePointer
    /// As 150004.
    package let serverVersion: Int

    /// How texts of values are written, so that they mean the same everywhere.
    private static let settings = [
        "DateStyle = ISO", "TimeZone = 'UTC'", "IntervalStyle = postgres", "extra_float_digits = 3",
        "bytea_output = hex",
        "standard_conforming_strings = on", "lc_monetary = 'C'", "search_path = ''",
        // Ranges of a copy are read by the index of the key: sorting the table for each of them would take O(n) each time.
        "enable_sort = off", "max_parallel_workers_per_gather = 0",
    ]

    /// Connects by a URI or a list of parameters, as libpq has them. Throws `SourceError`.
    package init(_ address: String, isReplication: Bool = false) throws {
        // Later parameters go before earlier ones, so that an address may have a timeout of its own.
        var parameters = [("connect_timeout", "10"), ("dbname", address)]
        if isReplication { parameters.append(("replication", "database")) }
        parameters += [("client_encoding", "UTF8"), ("fallback_application_name", "fetchindex")]
        let connection = Self.withStrings(parameters.map(\.0)) { keys in
            Self.withStrings(parameters.map(\.1)) { values in PQconnectdbParams(keys, values, 1) }
        }
        guard let connection else { throw SourceError(.connection, "there is no memory for a connection") }
        raw = connection
        serverVersion = Int(PQserverVersion(connection))
        guard PQstatus(connection) == CONNECTION_OK else {
            throw SourceError(
                .connection, "the source cannot be connected to: \(Self.sentence(PQerrorMessage(connection)))")
        }
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        for setting in Self.settings { try execute("SET " + setting) }
    }

    deinit { PQfinish(raw) }

    var socket: CInt { PQsocket(raw) }

    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer<CChar>($0) } + [nil]
        return pointers.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("An array with an element has a place.") }
            return body(base)
        }
    }

    /// A message of several lines as one.
    private static func sentence(_ text: UnsafePointer<CChar>?) -> String {
        let text = text.map { String(cString: $0) } ?? ""
        return text.split(separator: "\n").map { $0.trimmed }.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    // MARK: Commands

    /// The rows of a command's result, as texts.
    @discardableResult
    package func execute(_ command: String, _ arguments: [String?] = []) throws -> [[String?]] {
        let result: OpaquePointer?
        if arguments.isEmpty {
            result = PQexec(raw, command)
        } else {
            let copies = arguments.map { $0.flatMap { strdup($0) } }
            defer { for copy in copies { free(copy) } }
            let pointers = copies.map { UnsafePointer<CChar>($0) }
            result = pointers.withUnsafeBufferPointer {
                PQexecParams(raw, command, CInt(arguments.count), nil, $0.baseAddress, nil, nil, 0)
            }
        }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: break
        default: throw error(of: result)
        }
        let columns = PQnfields(result)
        return (0..<PQntuples(result)).map { row in
            (0..<columns).map { column in
                if PQgetisnull(result, row, column) == 1 { return nil }
                return PQgetvalue(result, row, column).map { String(cString: $0) }
            }
        }
    }

    /// The first column of the first row.
    package func value(_ command: String, _ arguments: [String?] = []) throws -> String? {
        try execute(command, arguments).first?.first ?? nil
    }

    func error(of result: OpaquePointer?) -> SourceError {
        let isLost = PQstatus(raw) != CONNECTION_OK
        if let result,
            let code = PQresultErrorField(result, CInt(UnicodeScalar("C").value)).map({ String(cString: $0) })
        {
            func field(_ name: Unicode.Scalar) -> String? {
                PQresultErrorField(result, CInt(name.value)).map { String(cString: $0) }
            }
            let sentence = [field("M"), field("D")].compactMap { $0 }.joined(separator: ": ")
            // The server is shutting down, or has just started.
            let passes = code.hasPrefix("57P") || code.hasPrefix("08")
            return SourceError(isLost || passes ? .connection : .refused, "the source says: \(sentence)", code: code)
        }
        return lost
    }

    private var lost: SourceError {
        SourceError(.connection, "the connection to the source is lost: \(Self.sentence(PQerrorMessage(raw)))")
    }

    // MARK: Copies

    /// Runs a COPY … TO STDOUT and hands out each of its rows.
    package func copyOut(_ command: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let result = PQexec(raw, command)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_OUT else { throw error(of: result) }
        do { while let row = try nextRow(waits: true) { try take(row, body) } } catch {
            // What follows must not be taken for the answer to another command.
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

    private func take(_ row: UnsafeMutableRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        defer { PQfreemem(row.baseAddress) }
        try body(UnsafeRawBufferPointer(row))
    }

    /// Nil at the end, and where there is none yet.
    private func nextRow(waits: Bool) throws -> UnsafeMutableRawBufferPointer? {
        var bytes: UnsafeMutablePointer<CChar>?
        let length = PQgetCopyData(raw, &bytes, waits ? 0 : 1)
        if length == -2 { throw lost }
        guard length > 0 else {
            if length == -1 && !waits { throw ended() }
            return nil
        }
        return UnsafeMutableRawBufferPointer(start: bytes, count: Int(length))
    }

    private func cancel() {
        guard let request = PQgetCancel(raw) else { return }
        var reason = [CChar](repeating: 0, count: 256)
        PQcancel(request, &reason, CInt(reason.count))
        PQfreeCancel(request)
    }

    private func drain() { while let result = PQgetResult(raw) { PQclear(result) } }

    // MARK: Replication

    /// Runs START_REPLICATION.
    func startReplication(_ command: String) throws {
        let result = PQexec(raw, command)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_BOTH else { throw error(of: result) }
    }

    /// Hands out a message if there is one, without waiting; false when there is none yet.
    func takeMessage(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        guard let message = try nextRow(waits: false) else { return false }
        try take(message, body)
        return true
    }

    /// Why the server ended the stream.
    private func ended() -> SourceError {
        guard let result = PQgetResult(raw) else { return lost }
        defer { PQclear(result) }
        if PQresultStatus(result) == PGRES_FATAL_ERROR { return error(of: result) }
        return SourceError(.connection, "the source has ended the stream")
    }

    func send(_ message: [UInt8]) throws {
        let isSent = message.withUnsafeBytes { bytes in
            PQputCopyData(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count)) == 1
        }
        guard isSent, PQflush(raw) == 0 else { throw lost }
    }

    /// Waits until the server has sent something, at most some milliseconds. False when it has not.
    func wait(milliseconds: Int32) throws -> Bool {
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, milliseconds) > 0 else { return false }
        guard PQconsumeInput(raw) == 1 else { throw lost }
        return true
    }

    /// The channels on which there were notifications since the last call.
    func takeNotifications() -> [String] {
        var channels: [String] = []
        while let notification = PQnotifies(raw) {
            channels.append(String(cString: notification.pointee.relname))
            PQfreemem(notification)
        }
        return channels
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}

/// An address without its password, which is refused: arguments and the store are read by others.
package enum SourceAddress {
    /// Throws `SourceError` when an address cannot be read, or holds a password.
    package static func check(_ address: String) throws {
        var reason: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(address, &reason) else {
            let text = reason.map { String(cString: $0) } ?? ""
            PQfreemem(reason)
            let sentence = text.split(separator: "\n").joined(separator: " ")
            throw SourceError(.usage, "the source's address cannot be read: \(sentence)")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            let name = String(cString: keyword)
            if ["password", "sslpassword"].contains(name), let value = option.pointee.val, value.pointee != 0 {
                throw SourceError(
                    .usage,
                    "the source's address has a password, which others could read: put it into ~/.pgpass, or into PGPASSWORD"
                )
            }
            option += 1
        }
    }
}
