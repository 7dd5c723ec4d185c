internal import FetchIndexRecords
internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// Statistics of cache openings: the number of hits by hour, and the last openings other than hits. They are in a
/// separate file in the store's folder, so that counting a hit writes nothing to LMDB's file. `OpeningLayout` shows the
/// format.
///
/// If the file is lost, only statistics are lost. If it can't be written, or stays locked for a short time, the opening
/// isn't recorded, so that openings don't wait long for the file.
struct OpeningStatistics {
    private let file: SideFile

    init(of store: Store) { file = store.statistics }

    /// Counts a hit of a cache.
    func countHit(of cache: CacheHeader, time: Double) {
        change(cache.number, cache.name) { Self.add(1, time, $0, $1, &$2) }
    }

    /// Adds pending hits of a cache. Drops them if the number belongs to another cache by now.
    func addHits(_ count: UInt64, of cache: UInt32, _ name: String, time: Double) {
        change(cache, name, beginsAnew: false) { file, layout, head in
            let last = head.lastHit
            Self.add(count, time, file, layout, &head)
            head.lastHit = max(last, time)
        }
    }

    private static func add(
        _ count: UInt64, _ time: Double, _ file: StatisticsFile, _ layout: OpeningLayout,
        _ head: inout OpeningLayout.Head
    ) {
        let hour = OpeningLayout.hour(of: time)
        if hour != head.hour {
            if let ended = head.lastHour { file.write(ended.bytes, layout.place(ofHour: ended.hour)) }
            // The hour may already have hits, if the clock was set back or this process was slow.
            head.begin(hour, after: OpeningLayout.Hour(file.read(layout.place(ofHour: hour))[...]))
        }
        head.hits &+= count
        head.hourHits &+= UInt32(truncatingIfNeeded: count)
        head.lastHit = time
    }

    func record(_ opening: RecordedOpening, of cache: UInt32, _ name: String) {
        change(cache, name) { file, layout, head in
            file.write(opening.bytes, layout.place(ofOpening: head.openings))
            head.openings &+= 1
        }
    }

    /// Changes the statistics of a cache. If they belong to another cache that had the same number, resets them first,
    /// or does nothing if `beginsAnew` is false. Doesn't change statistics with a damaged head, which a repair
    /// replaces.
    private func change(
        _ cache: UInt32, _ name: String, beginsAnew: Bool = true,
        _ body: (StatisticsFile, OpeningLayout, inout OpeningLayout.Head) -> Void
    ) {
        withFile(.writeCreating) { file in
            let layout = OpeningLayout(of: cache)
            var head = file.head(layout, of: name)
            if head.isDamaged { return }
            if head.isOfAnother {
                if !beginsAnew { return }
                file.clear(layout.all)
                head = OpeningLayout.Head(of: name)
            }
            body(file, layout, &head)
            file.write(head.bytes, layout.head)
        }
    }

    /// Moves the statistics of a cache to its new number after a rebuild.
    func transfer(from old: UInt32, to new: UInt32) {
        let (old, new) = (OpeningLayout(of: old).all, OpeningLayout(of: new).all)
        withFile(.write) { file in
            // A damaged number may lead far beyond the end of the file.
            guard file.length > old.lowerBound else { return }
            file.write(file.read(old), new)
            file.clear(old)
        }
    }

    /// Removes the statistics of a deleted cache.
    func reset(_ cache: UInt32) {
        let place = OpeningLayout(of: cache).all
        withFile(.write) { file in if file.length > place.lowerBound { file.clear(place) } }
    }

    /// Removes damaged entries from the statistics of a cache.
    func repair(_ cache: UInt32, _ name: String) {
        withFile(.write) { file in
            let layout = OpeningLayout(of: cache)
            let history = OpeningHistory(file.read(layout.all), of: name)
            if history.defects == 0 { return }
            file.clear(layout.openings)
            for (number, opening) in history.openings.enumerated() {
                file.write(opening.bytes, layout.place(ofOpening: UInt64(number)))
            }
            var head = history.head.isDamaged ? OpeningLayout.Head(of: name) : history.head
            head.openings = UInt64(history.openings.count)
            file.write(head.bytes, layout.head)
        }
    }

    /// The number of a cache's hits in the file, and the time of the last of them, which is nil without hits. Hits that
    /// a process hasn't written yet aren't included.
    func hits(of cache: UInt32, _ name: String) -> (count: Int, last: Double?) {
        var head = OpeningLayout.Head(of: name)
        withFile(.read) { head = $0.head(OpeningLayout(of: cache), of: name) }
        return (Int(clamping: head.hits), head.hits == 0 ? nil : head.lastHit)
    }

    func history(of cache: UInt32, _ name: String) -> OpeningHistory {
        var history = OpeningHistory([], of: name)
        withFile(.read) { history = OpeningHistory($0.read(OpeningLayout(of: cache).all), of: name) }
        return history
    }

    /// Calls the body with the statistics file. Does nothing if the file can't be opened for this use, if it can't be
    /// locked for writing, or if it has another format.
    private func withFile(_ use: SideFile.Use, _ body: (StatisticsFile) -> Void) {
        file.use(use, accepts: Self.accepts) { body(StatisticsFile(descriptor: $0)) }
    }

    /// Returns whether the file has the right magic bytes. If it's writable and has zeros or nothing in their place,
    /// writes them first.
    private static func accepts(_ descriptor: CInt, _ isWritable: Bool) -> Bool {
        let file = StatisticsFile(descriptor: descriptor)
        let magic = file.read(OpeningLayout.magicPlace)
        if magic == OpeningLayout.magic { return true }
        guard magic.allSatisfy({ $0 == 0 }) else { return false }
        if isWritable { file.write(OpeningLayout.magic, OpeningLayout.magicPlace) }
        return isWritable
    }
}

/// The open statistics file. Bytes that can't be read count as zeros.
private struct StatisticsFile {
    let descriptor: CInt

    func read(_ place: Range<Int>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: place.count)
        _ = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(place.lowerBound)) }
        return bytes
    }

    func head(_ layout: OpeningLayout, of name: String) -> OpeningLayout.Head {
        withUnsafeTemporaryAllocation(byteCount: layout.head.count, alignment: 1) { buffer in
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            _ = pread(descriptor, buffer.baseAddress, buffer.count, off_t(layout.head.lowerBound))
            return OpeningLayout.Head(buffer.bytes, of: name)
        }
    }

    func write(_ bytes: [UInt8], _ place: Range<Int>) {
        _ = bytes.withUnsafeBytes { bytes in
            FileSizeLimit.withoutSignal { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(place.lowerBound)) }
        }
    }

    var length: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    func clear(_ place: Range<Int>) { write([UInt8](repeating: 0, count: place.count), place) }
}
