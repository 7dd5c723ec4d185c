internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexRecords

/// A note of what the exact reader of a cache hasn't received: a rebuild, or the changes after a commit. An exact
/// reader is one that must receive each change. If a cache has no note, its reader counts as having received the state
/// of the cache's own commit.
///
/// A reader may fail or be killed before it has handled a rebuild, and writers catch a maintained cache up without its
/// reader. If this weren't noted, the reader's next opening could be a hit, and the reader would miss changes.
struct UnreadNote: Equatable {
    /// The cache's number when the note was written; 0 in a note of changes for which the log isn't retained.
    let number: UInt32
    /// The commit of the rebuild; for a note of changes, the last commit that the reader has received.
    let commit: UInt64
    /// The reason for the rebuild; nil if the note is about changes.
    let reason: RebuildReason?

    init(number: UInt32, commit: UInt64, reason: RebuildReason?) {
        (self.number, self.commit, self.reason) = (number, commit, reason)
    }

    /// Whether `trimLog` keeps the log after the note's commit, so that the reader can receive the exact changes.
    var keepsLog: Bool { reason == nil && number != 0 }

    /// Creates a note of a cache's rebuild.
    init(_ header: CacheHeader, _ reason: RebuildReason) {
        self.init(number: header.number, commit: header.commit, reason: reason)
    }
}

extension CacheDirectory {
    /// The note of a cache; nil if it has none.
    static func unread(of name: String, in reader: StoreReader) throws -> UnreadNote? {
        try unreadOrDamaged(in: reader).notes[name]
    }

    /// The notes, by the names of the caches. Throws if the list is damaged.
    static func unread(in reader: StoreReader) throws -> [String: UnreadNote] {
        var notes: [String: UnreadNote] = [:]
        try reader.withCacheList(.unread) { bytes in
            var reader = try ByteReader(checked: bytes, "the list of unread caches")
            for _ in 0..<(try reader.count()) {
                let name = try reader.text()
                let number = UInt32(truncatingIfNeeded: try reader.varint())
                let commit = try reader.varint()
                let reason = try reader.text()
                notes[name] = UnreadNote(
                    number: number, commit: commit,
                    // If a later version wrote a reason that this one doesn't know, the note is still about a rebuild.
                    reason: reason.isEmpty ? nil : RebuildReason(rawValue: reason) ?? .requested)
            }
        }
        return notes
    }

    /// The notes, by the names of the caches. If the list is damaged, any cache may have had a note. Caches then count
    /// as rebuilt because of damage, so that no reader misses a change.
    private static func unreadOrDamaged(
        in reader: StoreReader
    ) throws -> (notes: [String: UnreadNote], isDamaged: Bool) {
        do { return (try unread(in: reader), false) } catch  where error.isDamage {
            var notes: [String: UnreadNote] = [:]
            for name in try names(in: reader) where !isIndex(name) {
                // A cache whose header can't be read is rebuilt anyway.
                guard let header = try? header(name, in: reader) else { continue }
                notes[name] = UnreadNote(header, .damaged)
            }
            return (notes, true)
        }
    }

    /// Replaces or removes (nil) the note of a cache. If the list is damaged, replaces the list.
    static func setUnread(_ note: UnreadNote?, _ name: String, in writer: StoreWriter) throws {
        var (notes, isDamaged) = try unreadOrDamaged(in: writer)
        if !isDamaged, notes[name] == note { return }
        notes[name] = note
        try write(notes, in: writer)
    }

    /// Records, unless a note exists, that the exact reader of a cache has received the state of the cache's commit.
    /// Called when a cache becomes maintained, and before a writer catches a maintained cache up.
    static func noteRead(of name: String, in writer: StoreWriter) throws {
        guard try unread(of: name, in: writer) == nil, let header = try? header(name, in: writer) else { return }
        let note = UnreadNote(number: header.number, commit: header.commit, reason: nil)
        try setUnread(note, name, in: writer)
    }

    /// Sets whether the log is retained for the exact reader of a cache, if the cache has a note of unread changes. If
    /// the log isn't retained, the reader receives exact changes only if the log happens to reach back far enough.
    static func keepLog(_ isKept: Bool, forReaderOf name: String, in writer: StoreWriter) throws {
        guard let note = try unread(of: name, in: writer), note.reason == nil, note.keepsLog != isKept,
            let header = try? header(name, in: writer)
        else { return }
        let number = isKept ? header.number : 0
        try setUnread(UnreadNote(number: number, commit: note.commit, reason: nil), name, in: writer)
    }

    /// The last commit that the exact reader of a cache has received, or the commit of a rebuild that it hasn't
    /// received. Nil if the cache has no note, or if it has a note of changes and nothing that its order depends on has
    /// changed since the note's commit.
    static func unreadSince(_ name: String, _ header: CacheHeader, in reader: StoreReader) throws -> UInt64? {
        guard let note = try unread(of: name, in: reader) else { return nil }
        if note.reason != nil { return note.commit }
        var read = header
        read.commit = note.commit
        guard let entity = reader.model.number(ofPermanent: header.identity.entity) else { return note.commit }
        let count = try read.changesBehind(of: header.identity.dependencies(entity), in: reader)
        return count == 0 ? nil : note.commit
    }

    /// Records that the exact reader of a cache has received the state of a commit. If the cache is maintained, or its
    /// own commit is later, writes a note that the changes after this commit are unread; otherwise removes the note.
    static func setRead(upTo commit: UInt64, _ name: String, in writer: StoreWriter) throws {
        guard let header = try? header(name, in: writer) else { return }
        let isUnread = header.commit > commit || isMaintained(name, in: writer)
        let note = isUnread ? UnreadNote(number: header.number, commit: commit, reason: nil) : nil
        try setUnread(note, name, in: writer)
    }

    /// Replaces the list of notes if it's damaged. Returns a report of the repair.
    static func repairUnread(in writer: StoreWriter) throws -> [String] {
        let (notes, isDamaged) = try unreadOrDamaged(in: writer)
        guard isDamaged else { return [] }
        try write(notes, in: writer)
        return ["the list of unread caches was damaged: the next exact reading of each cache reports a rebuild"]
    }

    private static func write(_ notes: [String: UnreadNote], in writer: StoreWriter) throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(notes.count))
        for (name, note) in notes.sorted(by: { $0.key < $1.key }) {
            bytes.appendText(name)
            bytes.appendVarint(UInt64(note.number))
            bytes.appendVarint(note.commit)
            bytes.appendText(note.reason?.rawValue ?? "")
        }
        bytes.appendChecksum()
        try writer.setCacheList(.unread, notes.isEmpty ? nil : bytes)
    }
}
