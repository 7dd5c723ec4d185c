internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB

/// Collects the changes of one commit and writes them to the log in parts of up to about 4,000 bytes. A part with a
/// long record or many inserted ranges may be longer.
struct LogWriter {
    private static let partLength = 4000

    var commit: UInt64 = 0
    private let author: String
    private var part: [UInt8] = []
    private var nextPart: UInt32 = 1
    private var byteCount: UInt64 = 0
    private var changes: [Int: EntityChanges] = [:]
    private var inserted: [Int: [(first: UInt64, count: UInt64)]] = [:]
    private var logged = LoggedObjects()

    init(author: String) { self.author = author }

    var hasChanges: Bool { !changes.isEmpty }
    var changeCount: Int { changes.values.reduce(0) { $0 + $1.total } }

    /// Adds inserted objects to the commit. The object numbers of an entity ascend, so its inserted objects form one
    /// range, or several if the caller chose object numbers.
    mutating func insert(_ first: RecordKey, count: UInt64) {
        var ranges = inserted.removeValue(forKey: first.entity) ?? []
        if let last = ranges.last, last.first + last.count == first.number {
            ranges[ranges.count - 1].count += count
        } else {
            ranges.append((first.number, count))
        }
        inserted[first.entity] = ranges
        changes[first.entity, default: EntityChanges()].add(.inserted, count)
    }

    /// Adds the update or deletion of an object to the commit, with the object's old record. Later changes of the same
    /// object in the commit aren't logged, since the log already has its old record.
    mutating func change(_ kind: LogEntryKind, _ object: RecordKey, _ old: RawSpan, in writer: StoreWriter) throws {
        guard logged.insert(object.rawValue) else { return }
        changes[object.entity, default: EntityChanges()].add(kind)
        if !part.isEmpty && part.count + old.byteCount > Self.partLength { try writePart(in: writer) }
        part.append(kind.rawValue)
        part.appendVarint(UInt64(object.entity))
        part.appendVarint(object.number)
        part.appendVarint(UInt64(old.byteCount))
        part.appendBytes(old)
    }

    /// Adds an inserted object whose number is lower than the numbers of older objects, unless the commit has logged a
    /// change of the object with that number.
    mutating func insertReturned(_ object: RecordKey, in writer: StoreWriter) throws {
        guard logged.insert(object.rawValue) else { return }
        changes[object.entity, default: EntityChanges()].add(.returned)
        if part.count > Self.partLength { try writePart(in: writer) }
        part.append(LogEntryKind.returned.rawValue)
        part.appendVarint(UInt64(object.entity))
        part.appendVarint(object.number)
    }

    private mutating func writePart(in writer: StoreWriter) throws {
        part.appendChecksum(with: LogKey(commit: commit, part: nextPart).checksum)
        try put(part, part: nextPart, in: writer)
        nextPart += 1
        part.removeAll(keepingCapacity: true)
    }

    private mutating func put(_ value: [UInt8], part: UInt32, in writer: StoreWriter) throws {
        try writer.view.put(value, for: StoreLayout.logKey(commit: commit, part: part), in: writer.tables.log)
        byteCount += UInt64(value.count)
    }

    /// Writes the last part and the commit's header. Returns the total length of the header and all parts.
    mutating func finish(in writer: StoreWriter) throws -> UInt64 {
        for (entity, ranges) in inserted.sorted(by: { $0.key < $1.key }) {
            for range in ranges {
                part.append(LogEntryKind.inserted.rawValue)
                part.appendVarint(UInt64(entity))
                part.appendVarint(range.first)
                part.appendVarint(range.count)
            }
        }
        if !part.isEmpty { try writePart(in: writer) }
        var header: [UInt8] = []
        header.appendNumber(Date().timeIntervalSince1970.bitPattern)
        header.appendNumber(UInt64(writer.view.identifier))
        header.appendText(author)
        header.appendVarint(UInt64(changes.count))
        for (entity, counts) in changes.sorted(by: { $0.key < $1.key }) {
            header.appendVarint(UInt64(entity))
            for count in [counts.inserted, counts.updated, counts.deleted] { header.appendVarint(UInt64(count)) }
        }
        header.appendChecksum(with: LogKey(commit: commit, part: 0).checksum)
        try put(header, part: 0, in: writer)
        return byteCount
    }
}

/// The objects whose changes a commit has logged. A `Set` of few takes no time to make. Many of them take some 20 bytes
/// each in a `Set`, and about a bit each in a `SparseSet`.
private struct LoggedObjects {
    private static let mostFew = 10_000
    private var few: Set<UInt64> = []
    private var many: SparseSet?

    /// Adds an object; returns false if the set has it.
    mutating func insert(_ object: UInt64) -> Bool {
        if many != nil { return many?.insert(object) ?? false }
        guard few.insert(object).inserted else { return false }
        if few.count > Self.mostFew {
            var many = SparseSet()
            for object in few { many.insert(object) }
            self.many = many
            few = []
        }
        return true
    }
}
