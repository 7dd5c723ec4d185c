// Swift imports `stdout` and `stderr` as mutable variables. Nothing here changes them.
@preconcurrency internal import FetchIndexCLibrary
internal import FetchIndex
internal import FetchIndexPostgresSource
internal import FetchIndexEssentials
internal import FetchIndexInspection

/// Prints a follower's events on standard output, a line for each event. In the form for people, warnings go to
/// standard error, and some events aren't printed.
struct EventPrinter {
    let isJSON: Bool

    private struct Line: Encodable {
        var event: String
        /// The source's name.
        var name: String?
        var table: String?
        var position: String?
        var rows: Int?
        var inserted: Int?
        var updated: Int?
        var deleted: Int?
        var seconds: Double?
        var source: String?
        var slot: String?
        var reason: String?

        mutating func take(_ counts: BatchWriter.Counts) {
            (inserted, updated, deleted) = (counts.inserted, counts.updated, counts.deleted)
        }
    }

    /// Prints an event of a source. Lines for people begin with the source's name if the user gave it one.
    func print(_ event: FollowEvent, of name: String) {
        let title = name == SourceName.main ? "" : "\(name): "
        func show(_ text: String, _ line: Line) {
            var line = line
            line.name = name
            self.show(title + text, line)
        }
        switch event {
        case .connected(let address):
            show("following \(address.visible)", Line(event: "connected", source: address))
        case .makingSlot(let name):
            show(
                "creating the slot \(name.visible): the source waits for open transactions to end",
                Line(event: "makingSlot", slot: name))
        case .copying(let table, let rows):
            // In the form for people, `copied` prints the line when the copy has ended.
            if isJSON { show("", Line(event: "copying", table: table, rows: rows)) }
        case .copied(let table, let counts, let seconds):
            let rows = counts.inserted + counts.updated + counts.unchanged
            var line = Line(event: "copied", table: table, rows: rows, seconds: seconds)
            line.take(counts)
            show(Self.sentence(ofCopy: table, rows: rows, counts, seconds), line)
        case .consistent(let position):
            show(
                "the store equals the source, starting at \(position)",
                Line(event: "consistent", position: position))
        case .transaction(let position, let counts, let lag):
            var line = Line(event: "transaction", position: position, seconds: lag)
            line.take(counts)
            // In the form for people, a transaction that changed no followed row isn't printed.
            if counts.changed == 0 && !isJSON { return }
            show(Self.sentence(ofTransactionAt: position, counts, lag), line)
        case .warning(let reason):
            if isJSON { show("", Line(event: "warning", reason: reason)) } else { Self.error(title + reason) }
        case .failed(let error):
            let reason = (error as? SourceError)?.sentence(of: name) ?? "\(error)"
            if isJSON { show("", Line(event: "failed", reason: reason)) } else { Self.error(title + reason) }
        }
    }

    private static func sentence(
        ofCopy table: String, rows: Int, _ counts: BatchWriter.Counts, _ seconds: Double
    ) -> String {
        let gone = counts.deleted == 0 ? "" : ", \(Numbers.grouped(counts.deleted)) deleted"
        return
            "copied \(table.visible): \(Numbers.count(rows, "row")) in \(Numbers.duration(milliseconds: seconds * 1000)) "
            + "(\(Numbers.grouped(Int(Double(rows) / max(seconds, 0.001))))/s)\(gone)"
    }

    private static func sentence(
        ofTransactionAt position: String, _ counts: BatchWriter.Counts, _ lag: Double
    ) -> String {
        "\(position): \(Numbers.grouped(counts.inserted)) inserted, \(Numbers.grouped(counts.updated)) updated, "
            + "\(Numbers.grouped(counts.deleted)) deleted, \(Numbers.duration(milliseconds: lag * 1000)) behind"
    }

    private func show(_ text: String, _ line: Line) {
        guard isJSON else { return self.line(text) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(line) else { return }
        self.line(String(decoding: bytes, as: UTF8.self).withControlsEscaped)
    }

    func line(_ text: String) {
        fputs(text + "\n", stdout)
        // Flushes the line, because a program that reads the output may wait for it.
        fflush(stdout)
    }

    static func error(_ sentence: String) { fputs("fetchindex follow: \(sentence.withBlankControls)\n", stderr) }

    /// Writes the buffered output. Throws if this or an earlier write failed.
    static func flush() throws {
        if fflush(stdout) != 0 || ferror(stdout) != 0 { throw LostOutput() }
    }
}

struct LostOutput: Error, CustomStringConvertible {
    var description: String { "the output cannot be written" }
}
