import Synchronization

/// A generated catalogue of files, like a list of all files of a distribution: paths of about 90 bytes with long common prefixes.
public struct FileCatalogue {
    public struct Row: Sendable {
        public var path: String
        public var section: String
        public var package: String
        public var depth: Int
        public var length: Int
    }

    public static let columns = ["path", "section", "package", "depth", "length"]

    private static let roots = [
        "usr/share/doc", "usr/lib/python3/dist-packages", "usr/share/javascript", "usr/include", "usr/share/locale",
        "usr/lib/x86_64-linux-gnu", "usr/src", "usr/share/icons/hicolor/scalable",
    ]
    private static let extensions = ["html", "py", "js", "h", "mo", "so", "svg", "md", "gz"]
    private static let sectionCount = 15

    /// The rows that were generated last. They are kept, because several callers need the same rows, and it takes
    /// seconds to generate a million of them.
    private static let made = Mutex<(count: Int, rows: [Row], arranged: [Bool: [Row]])>((0, [], [:]))

    /// Returns `count` rows, sorted by path or shuffled. O(rows * log rows).
    public static func rows(_ count: Int, isShuffled: Bool) -> [Row] {
        made.withLock { made in
            if made.count != count { made = (count, rows(count), [:]) }
            if let rows = made.arranged[isShuffled] { return rows }
            let rows = arranged(made.rows, isShuffled: isShuffled)
            made.arranged[isShuffled] = rows
            return rows
        }
    }

    private static func rows(_ count: Int) -> [Row] {
        var words = Catalogue(seed: 2027)
        var rows: [Row] = []
        rows.reserveCapacity(count)
        while rows.count < count { appendPackage(to: &rows, upTo: count, &words) }
        return rows
    }

    private static func arranged(_ rows: [Row], isShuffled: Bool) -> [Row] {
        var rows = rows
        if isShuffled {
            var generator = SplitMix64(state: 2028)
            rows.shuffle(using: &generator)
        } else {
            rows.sort { $0.path < $1.path }
        }
        return rows
    }

    /// Appends the files of one package: up to 8 folders with up to 40 files in each.
    private static func appendPackage(to rows: inout [Row], upTo count: Int, _ words: inout Catalogue) {
        let package = words.word(3 + words.int(3)) + "-\(rows.count)"
        let section = "section-\(words.int(1 + words.int(sectionCount)))"
        for _ in 0..<1 + words.int(8) {
            let folders = (0..<1 + words.int(5)).map { _ in words.word(2 + words.int(4)) }
            let folder = ([roots[words.int(roots.count)], package] + folders).joined(separator: "/")
            let depth = folder.utf8.count { $0 == UInt8(ascii: "/") } + 2
            for _ in 0..<1 + words.int(40) where rows.count < count {
                let path =
                    "\(folder)/\(words.word(2 + words.int(5)))-\(rows.count).\(extensions[words.int(extensions.count)])"
                rows.append(
                    Row(
                        path: path, section: section, package: package, depth: depth, length: path.utf8.count))
            }
        }
    }
}
