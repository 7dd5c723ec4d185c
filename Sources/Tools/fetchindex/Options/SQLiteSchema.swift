internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// The part of an SQLite database that lists its tables, searched without SQLite, which would write files beside the
/// database. https://www.sqlite.org/fileformat2.html
struct SQLiteSchema {
    private let path: String
    private let pages: Pages
    private let header: [UInt8]
    private static let magic = "SQLite format 3\0"
    private static let headerLength = 100
    /// Damaged pages can name each other in a circle.
    private static let mostPages = 100_000

    /// Opens a database; returns nil if the file isn't one.
    init?(_ path: String) {
        guard CoreDataOptions.isFile(path), let pages = Pages(path) else { return nil }
        let header = pages.bytes(at: 0, Self.headerLength)
        guard header.count == Self.headerLength, header.starts(with: Self.magic.utf8) else { return nil }
        (self.path, self.pages, self.header) = (path, pages, header)
    }

    /// A file from which bytes are read.
    private final class Pages {
        private let descriptor: CInt

        init?(_ path: String) {
            descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            if descriptor < 0 { return nil }
        }

        deinit { close(descriptor) }

        /// At most `count` bytes from an offset on.
        func bytes(at offset: Int, _ count: Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
                length = max(0, pread(descriptor, buffer.baseAddress, count, off_t(offset)))
            }
        }
    }

    private var pageSize: Int {
        let size = Int(header[16]) << 8 | Int(header[17])
        return size == 1 ? 65536 : max(size, Self.headerLength)
    }

    /// Whether a page of the schema, or the log, contains a text. O(pages of the schema), and O(bytes of the log).
    func contains(_ text: String) -> Bool { searchPages(for: text) || searchLog(for: text) }

    /// Whether the database has no tables, and its tables may have been in a log that is missing.
    var lacksLog: Bool {
        // The versions of the format are 2 if the database has a log.
        let usesLog = header[18] == 2 && header[19] == 2
        return usesLog && !searchPages(for: "CREATE ") && access(path + "-wal", F_OK) != 0
    }

    private func searchPages(for text: String) -> Bool {
        var left = [1]
        for _ in 0..<Self.mostPages {
            guard let number = left.popLast() else { return false }
            let page = pages.bytes(at: (number - 1) * pageSize, pageSize)
            if page.contains(text.utf8) { return true }
            let start = number == 1 ? Self.headerLength : 0
            guard page.count == pageSize, page[start] == 5 else { continue }
            func child(at place: Int) -> Int {
                place + 4 <= pageSize ? page[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } : 0
            }
            let count = Int(page[start + 3]) << 8 | Int(page[start + 4])
            let cells = (0..<count).map { start + 12 + 2 * $0 }.filter { $0 + 2 <= pageSize }
            let children = cells.map { child(at: Int(page[$0]) << 8 | Int(page[$0 + 1])) } + [child(at: start + 8)]
            left += children.filter { $0 > 1 }
        }
        return false
    }

    private func searchLog(for text: String) -> Bool {
        guard let log = Pages(path + "-wal") else { return false }
        let step = 1 << 20
        var offset = 0
        while true {
            let piece = log.bytes(at: offset, step + text.utf8.count)
            if piece.contains(text.utf8) { return true }
            if piece.count < step { return false }
            offset += step
        }
    }
}
