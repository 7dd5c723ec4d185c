package import FetchIndexModels
internal import FetchIndexPlatform
/// The key of a part of the log. Part 0 of a commit is its header.
package struct LogKey: Hashable {
    package let commit: UInt64
    package let part: UInt32

    package init(commit: UInt64, part: UInt32) {
        self.commit = commit
        self.part = part
    }

    package init?(_ key: RawSpan) {
        guard key.byteCount == 12 else { return nil }
        commit = UInt64(bigEndian: key.unsafeLoadUnaligned(as: UInt64.self))
        part = UInt32(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt32.self))
        guard commit <= StoreState.greatest else { return nil }
    }

    /// The key's checksum. The value's checksum is XORed with it, so that a part isn't accepted under another key.
    package var checksum: UInt32 {
        let key = StoreLayout.logKey(commit: commit, part: part)
        return key.span.bytes.checksum
    }

    /// The part's name in errors.
    package var name: String {
        part == 0 ? "the log's header of commit \(commit)" : "part \(part) of commit \(commit) in the log"
    }
}

/// The place of an entry in the log.
struct LogPlace {
    let key: LogKey
    /// The offset in bytes of the entry in its part.
    let offset: Int
}

/// An entry of the log, without the object's old record. For an inserted range, the object is the first of the range,
/// and the count is the length of the range.
package struct LogEntry {
    package let kind: LogEntryKind
    package let object: RecordKey
    package let count: UInt64
    let place: LogPlace

    /// Reads the next entry of a part. Also returns the range of the old record in the part, which is empty for an
    /// inserted range.
    static func read(from reader: inout ByteReader, of key: LogKey) throws -> (entry: LogEntry, old: Range<Int>) {
        let place = LogPlace(key: key, offset: reader.offset)
        guard let kind = LogEntryKind(rawValue: try reader.uint8()) else {
            throw StoreError.corrupted("\(key.name) has an entry of an unknown kind")
        }
        let (entity, number) = (try reader.varint(), try reader.varint())
        guard entity <= 0xFFFF, number <= RecordKey.maximumNumber else {
            throw StoreError.corrupted("\(key.name) names no object")
        }
        let count = kind == .inserted ? try reader.varint() : 1
        let hasOld = kind == .updated || kind == .deleted
        let old = hasOld ? try reader.range(try reader.count()) : 0..<0
        let object = RecordKey(entity: Int(entity), number: number)
        return (LogEntry(kind: kind, object: object, count: count, place: place), old)
    }
}

/// The kind of change that a log entry records.
package enum LogEntryKind: UInt8 {
    case inserted = 1
    case updated = 2
    case deleted = 3
    /// Inserted with a given number, lower than the numbers of older objects. It has no old record.
    case returned = 4
}

/// The counts of an entity's objects that a commit inserted, updated and deleted.
package struct EntityChanges: Equatable, Sendable {
    package var inserted = 0
    package var updated = 0
    package var deleted = 0

    package var total: Int { inserted + updated + deleted }

    mutating func add(_ kind: LogEntryKind, _ count: UInt64 = 1) {
        switch kind {
        case .inserted, .returned: inserted &+= Int(clamping: count)
        case .updated: updated &+= Int(clamping: count)
        case .deleted: deleted &+= Int(clamping: count)
        }
    }
}

/// The header of a commit in the log.
package struct CommitHeader: Equatable, Sendable {
    package let commit: UInt64
    /// The time of the commit, in seconds since 1970.
    package let time: Double
    /// The number of the LMDB transaction that made the commit. In a compact copy or a converted file, LMDB numbers
    /// transactions from 1 again.
    package let transaction: Int
    package let author: String
    package let changes: [Int: EntityChanges]

    package init(commit: UInt64, decoding bytes: RawSpan) throws {
        let key = LogKey(commit: commit, part: 0)
        var reader = try ByteReader(checked: bytes, with: key.checksum, key.name)
        self.commit = commit
        time = Double(bitPattern: try reader.uint64())
        transaction = Int(clamping: try reader.uint64())
        author = try reader.text()
        var changes: [Int: EntityChanges] = [:]
        for _ in 0..<(try reader.count()) {
            let entity = Int(truncatingIfNeeded: try reader.varint())
            var counts = EntityChanges()
            counts.inserted = Int(truncatingIfNeeded: try reader.varint() & 0xFFFF_FFFF_FFFF)
            counts.updated = Int(truncatingIfNeeded: try reader.varint() & 0xFFFF_FFFF_FFFF)
            counts.deleted = Int(truncatingIfNeeded: try reader.varint() & 0xFFFF_FFFF_FFFF)
            changes[entity] = counts
        }
        self.changes = changes
    }
}
