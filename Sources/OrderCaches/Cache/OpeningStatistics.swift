internal import Records
internal import SystemBasics
internal import Files

/// What the openings of caches were: hits by hour, and the last openings that were none. They stand in a file beside the store,
/// so that an opening writes nothing to the store; `OpeningLayout` draws it.
///
/// When the file is lost, only statistics are lost. Where it cannot be written, or somebody else keeps it locked, nothing is
/// recorded: nobody waits for it.
struct OpeningStatistics {
    /// How often a locked file is tried, and the microseconds between.
    private static let attempts = 20
    private static let pause: UInt32 = 10

    private let path: String

    init(inFolder folder: String) { path = folder + "/" + Store.statisticsFile }

    /// Counts a hit: one read and one write of less than a page.
    func countHit(of cache: UInt32, time: Double) {
        withFile(O_RDWR | O_CREAT, isLocked: true) { file in
            let layout = OpeningLayout(of: cache)
            var head = OpeningLayout.Head(file.read(layout.head))
            if let ended = head.begin(OpeningLayout.hour(of: time)) {
                file.write(ended.bytes, layout.place(ofHour: ended.hour))
            }
            head.hits &+= 1
            head.hourHits &+= 1
            head.lastHit = time
            file.write(head.bytes, layout.head)
        }
    }

    func record(_ opening: RecordedOpening, of cache: UInt32) {
        withFile(O_RDWR | O_CREAT, isLocked: true) { file in
            let layout = OpeningLayout(of: cache)
            var head = OpeningLayout.Head(file.read(layout.head))
            file.write(opening.bytes, layout.place(ofOpening: head.openings))
            head.openings &+= 1
            file.write(head.bytes, layout.head)
        }
    }

    /// Gives the statistics of a cache to its new number, after a rebuild.
    func transfer(from old: UInt32, to new: UInt32) {
        withFile(O_RDWR, isLocked: true) { file in
            file.write(file.read(OpeningLayout(of: old).all), OpeningLayout(of: new).all)
            file.clear(OpeningLayout(of: old).all)
        }
    }

    /// Forgets a deleted cache.
    func reset(_ cache: UInt32) {
        withFile(O_RDWR) { $0.clear(OpeningLayout(of: cache).all) }
    }

    /// Removes what is damaged.
    func repair(_ cache: UInt32) {
        withFile(O_RDWR, isLocked: true) { file in
            let layout = OpeningLayout(of: cache)
            let history = OpeningHistory(file.read(layout.all))
            if history.defects == 0 { return }
            file.clear(layout.openings)
            for (number, opening) in history.openings.enumerated() {
                file.write(opening.bytes, layout.place(ofOpening: UInt64(number)))
            }
            var head = history.head
            head.openings = UInt64(history.openings.count)
            file.write(head.bytes, layout.head)
        }
    }

    /// The hits of a cache, and the time of the last; nil when there was none.
    func hits(of cache: UInt32) -> (count: Int, last: Double?) {
        var head = OpeningLayout.Head([])
        withFile(O_RDONLY) { head = OpeningLayout.Head($0.read(OpeningLayout(of: cache).head)) }
        return (Int(clamping: head.hits), head.hits == 0 ? nil : head.lastHit)
    }

    func history(of cache: UInt32) -> OpeningHistory {
        var history = OpeningHistory([])
        withFile(O_RDONLY) { history = OpeningHistory($0.read(OpeningLayout(of: cache).all)) }
        return history
    }

    /// Does nothing when the file cannot be opened or locked, or is of another format.
    private func withFile(_ flags: Int32, isLocked: Bool = false, _ body: (StatisticsFile) -> Void) {
        let descriptor = Descriptors.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if isLocked, !Self.lock(descriptor) { return }
        let file = StatisticsFile(descriptor: descriptor)
        let magic = file.read(OpeningLayout.magicPlace)
        if magic != OpeningLayout.magic {
            guard magic.allSatisfy({ $0 == 0 }) else { return }
            if flags & O_CREAT != 0 { file.write(OpeningLayout.magic, OpeningLayout.magicPlace) }
        }
        body(file)
    }

    private static func lock(_ descriptor: Int32) -> Bool {
        for attempt in 0..<attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            if attempt + 1 < attempts { usleep(pause) }
        }
        return false
    }
}

/// The open file. What cannot be read is zero.
private struct StatisticsFile {
    let descriptor: Int32

    func read(_ place: Range<Int>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: place.count)
        _ = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(place.lowerBound)) }
        return bytes
    }

    func write(_ bytes: [UInt8], _ place: Range<Int>) {
        _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(place.lowerBound)) }
    }

    func clear(_ place: Range<Int>) { write([UInt8](repeating: 0, count: place.count), place) }
}
