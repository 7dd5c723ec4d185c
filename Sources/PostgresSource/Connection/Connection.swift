internal import CFetchIndexPostgres
internal import FetchIndexCLibrary

/// A connection to a PostgreSQL server, which one thread at a time may use. PostgreSQL documentation, "Database
/// Connection Control Functions" and "Command Execution Functions".
package final class Connection {
    let raw: OpaquePointer
    /// Whether a wait for the server's answer should end. After that, the connection can't be used any more.
    var isInterrupted: () -> Bool = { false }
    /// Whether an answer was left that may still come.
    private(set) var isAbandoned = false
    /// The time that the server has for its answer after an interruption.
    private static let longestAnswer = Duration.seconds(2)
    /// The server's version as a number: 150004 for 15.4.
    package let serverVersion: Int

    /// The timeout for locks: a table that is locked for long must not keep a follower from ending.
    private static let lockTimeout = "lock_timeout = '2s'"

    /// The settings of the session. With them, dates, numbers and bytes have unambiguous texts, and the server's
    /// `statement_timeout` doesn't end a long command.
    private static let settings = [
        "DateStyle = ISO", "TimeZone = 'UTC'", "IntervalStyle = postgres", "extra_float_digits = 3",
        "bytea_output = hex",
        "standard_conforming_strings = on", "lc_monetary = 'C'", "search_path = ''",
        // Reading fails if row security hides rows from the role. Otherwise these rows would be missing silently.
        "row_security = off",
        "statement_timeout = 0", lockTimeout, "idle_in_transaction_session_timeout = 0",
        // The server should read each range of a copy by the key's index, and not read and sort the table for each
        // range.
        "enable_sort = off", "jit = off", "max_parallel_workers_per_gather = 0",
    ]

    /// Connects to an address, which is a URI or a list of libpq's parameters. Throws `SourceError`. For a replication
    /// connection, the error has the SQLSTATE code with which the server refuses it, if a second attempt finds out the
    /// code.
    package init(_ address: String, isReplication: Bool = false) throws {
        guard let connection = Self.open(address, isReplication) else {
            throw SourceError(.connection, "there is no memory for a connection")
        }
        raw = connection
        serverVersion = Int(PQserverVersion(connection))
        guard PQstatus(connection) == CONNECTION_OK else {
            let reason = Self.sentence(PQerrorMessage(connection))
            throw SourceError(
                .connection, "the source cannot be connected to: \(reason)",
                code: isReplication ? Self.refusalCode(connection) : nil)
        }
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        var settings = Self.settings
        if serverVersion >= 140_000 { settings.append("idle_session_timeout = 0") }
        if serverVersion >= 170_000 { settings.append("transaction_timeout = 0") }
        for setting in settings { try execute("SET " + setting) }
    }

    deinit { PQfinish(raw) }

    private static func open(_ address: String, _ isReplication: Bool) -> OpaquePointer? {
        // A later parameter replaces an earlier one, so that an address can set a timeout of its own.
        var parameters = [
            ("connect_timeout", "10"), ("keepalives_idle", "20"), ("keepalives_interval", "10"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "60000"), ("dbname", address),
        ]
        if isReplication { parameters.append(("replication", "database")) }
        parameters += [("client_encoding", "UTF8"), ("fallback_application_name", "fetchindex")]
        return withStrings(parameters.map(\.0)) { keys in
            withStrings(parameters.map(\.1)) { values in PQconnectdbParams(keys, values, 1) }
        }
    }

    /// Connects again to learn the SQLSTATE code with which the server refuses the connection. libpq has no code for a
    /// failed connection, but at the verbosity SQLSTATE its error message ends with the code, in every language.
    /// Returns nil if the second attempt gives no code.
    private static func refusalCode(_ failed: OpaquePointer) -> String? {
        PQsetErrorVerbosity(failed, PQERRORS_SQLSTATE)
        PQreset(failed)
        guard PQstatus(failed) != CONNECTION_OK else { return nil }
        let code = sentence(PQerrorMessage(failed)).suffix(5)
        let isCode = code.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        return isCode && code.utf8.count == 5 ? String(code) : nil
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer<CChar>($0) } + [nil]
        return pointers.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("An array with an element has an address.") }
            return body(base)
        }
    }

    /// Joins the lines of a message.
    private static func sentence(_ text: UnsafePointer<CChar>?) -> String {
        let text = text.map { String(cString: $0) } ?? ""
        return text.split(separator: "\n").map { $0.trimmed }.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    // MARK: Commands

    /// Executes a command, or several commands without arguments, and returns the rows of the last result as texts.
    /// Throws `SourceError` if the command fails, or if the result has another number of columns than expected.
    @discardableResult
    package func execute(
        _ command: String, _ arguments: [String?] = [], columns expected: Int? = nil
    ) throws -> [[String?]] {
        let result: OpaquePointer?
        if arguments.isEmpty {
            result = try answer(to: PQsendQuery(raw, command))
        } else {
            let copies = arguments.map { $0.flatMap { strdup($0) } }
            defer { for copy in copies { free(copy) } }
            let pointers = copies.map { UnsafePointer<CChar>($0) }
            let isSent = pointers.withUnsafeBufferPointer {
                PQsendQueryParams(raw, command, CInt(arguments.count), nil, $0.baseAddress, nil, nil, 0)
            }
            result = try answer(to: isSent)
        }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: break
        default: throw error(of: result)
        }
        let columns = PQnfields(result)
        if let expected, Int(columns) != expected {
            throw SourceError(.refused, "the source has answered with \(columns) columns instead of \(expected)")
        }
        return (0..<PQntuples(result)).map { row in
            (0..<columns).map { column in
                if PQgetisnull(result, row, column) == 1 { return nil }
                return PQgetvalue(result, row, column).map { String(cString: $0) }
            }
        }
    }

    /// Waits for the result of a command that was sent; of several commands, for the last result, or the first that begins
    /// a copy. Throws `SourceError` if the connection is lost, and `Interrupted`.
    func answer(to isSent: CInt) throws -> OpaquePointer? {
        guard isSent == 1 else { throw lost }
        var last: OpaquePointer?
        while true {
            var interruption: ContinuousClock.Instant?
            while PQisBusy(raw) == 1 {
                do { try waitForAnswer(&interruption) } catch {
                    PQclear(last)
                    throw error
                }
            }
            guard let result = PQgetResult(raw) else { return last }
            PQclear(last)
            last = result
            if [PGRES_COPY_OUT, PGRES_COPY_BOTH].contains(PQresultStatus(result)) || PQstatus(raw) != CONNECTION_OK {
                return last
            }
        }
    }

    /// Waits until the server has sent something, a tenth of a second at most. Throws `Interrupted` if it was asked to end
    /// a while ago; `interruption` is when.
    func waitForAnswer(_ interruption: inout ContinuousClock.Instant?) throws {
        _ = try wait(milliseconds: 100)
        guard isInterrupted() else { return }
        let start = interruption ?? .now
        interruption = start
        if ContinuousClock.now - start < Self.longestAnswer { return }
        isAbandoned = true
        throw Interrupted()
    }

    /// Executes a text that must be a single command, in the extended protocol, in which PostgreSQL refuses several
    /// commands.
    func executeSingle(_ command: String) throws {
        let result = try answer(to: PQsendQueryParams(raw, command, 0, nil, nil, nil, nil, 0))
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: break
        default: throw error(of: result)
        }
    }

    /// Executes a command that may wait for other transactions without limit, and returns the first value of its
    /// result; nil if the value is null, or if the result has no rows. Throws `SourceError` and `Interrupted`.
    func slowValue(_ command: String, isInterrupted: () -> Bool) throws -> String? {
        try execute("SET lock_timeout = 0")
        defer { _ = try? execute("SET " + Self.lockTimeout) }
        guard PQsendQuery(raw, command) == 1 else { throw lost }
        var wasInterrupted = false
        while PQisBusy(raw) == 1 {
            _ = try wait(milliseconds: 100)
            if isInterrupted(), !wasInterrupted {
                wasInterrupted = true
                cancel()
            }
        }
        let result = PQgetResult(raw)
        defer {
            PQclear(result)
            drain()
        }
        if wasInterrupted { throw Interrupted() }
        guard PQresultStatus(result) == PGRES_TUPLES_OK else { throw error(of: result) }
        guard PQntuples(result) > 0, PQnfields(result) > 0, PQgetisnull(result, 0, 0) == 0 else { return nil }
        return PQgetvalue(result, 0, 0).map { String(cString: $0) }
    }

    /// Executes a command and returns the first value of its result; nil if the value is null, or if the result has no
    /// rows.
    package func value(_ command: String, _ arguments: [String?] = []) throws -> String? {
        try execute(command, arguments).first?.first ?? nil
    }

    /// SQLSTATE codes, or classes of codes, of errors that a later attempt may avoid: lost connections (08), conflicts
    /// (40), a lack of memory, disk space or connections (53), an operator's intervention such as a shutdown (57), and
    /// a lock that isn't available (55P03). In class 53, `error(of:)` excludes 53400, a configured limit.
    private static let passingErrors = ["08", "40", "53", "57", "55P03"]

    func error(of result: OpaquePointer?) -> SourceError {
        let isLost = PQstatus(raw) != CONNECTION_OK
        if let result,
            let code = PQresultErrorField(result, CInt(UnicodeScalar("C").value)).map({ String(cString: $0) })
        {
            func field(_ name: Unicode.Scalar) -> String? {
                PQresultErrorField(result, CInt(name.value)).map { String(cString: $0) }
            }
            let sentence = [field("M"), field("D")].compactMap { $0 }.joined(separator: ": ")
            let passes = Self.passingErrors.contains { code.hasPrefix($0) } && code != "53400"
            return SourceError(isLost || passes ? .connection : .refused, "the source says: \(sentence)", code: code)
        }
        return lost
    }

    var lost: SourceError {
        SourceError(.connection, "the connection to the source is lost: \(Self.sentence(PQerrorMessage(raw)))")
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
