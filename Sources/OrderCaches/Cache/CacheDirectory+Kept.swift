internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// The list of caches that writers of records maintain, in addition to the model's indexes.
extension CacheDirectory {
    /// The prefix of the names of the model's indexes.
    package static let indexPrefix = "index:"

    /// Whether a name belongs to an index. Writers of records maintain indexes, and a fetch can't open one by its name.
    package static func isIndex(_ name: String) -> Bool { name.hasPrefix(indexPrefix) }

    /// The names of the caches in the list, in order.
    package static func maintained(in reader: StoreReader) throws -> [String] {
        var names: [String] = []
        try reader.withCacheList(.maintained) { bytes in
            var reader = try ByteReader(checked: bytes, "the list of maintained caches")
            for _ in 0..<(try reader.count()) { names.append(try reader.text()) }
        }
        return names
    }

    /// Whether a cache is in the list. Returns false if the list can't be read.
    package static func isMaintained(_ name: String, in reader: StoreReader) -> Bool {
        ((try? maintained(in: reader)) ?? []).contains(name)
    }

    /// Adds a cache to the list or removes it. Adding also notes which commit the cache's exact reader has received,
    /// unless the cache has a note, and retains the log for a note of changes. Removing keeps the note, but no longer
    /// retains the log for it. Throws `CacheError.unknown` if the cache is missing, and `invalidName` for an index.
    package static func setMaintained(_ isMaintained: Bool, _ name: String, in writer: StoreWriter) throws {
        if isIndex(name) { throw CacheError.invalidName(name) }
        guard try names(in: writer).contains(name) else { throw try unknown(name, in: writer) }
        try change(name, isMaintained: isMaintained, in: writer)
        if isMaintained { try noteRead(of: name, in: writer) }
        try keepLog(isMaintained, forReaderOf: name, in: writer)
    }

    static func change(_ name: String, isMaintained: Bool, in writer: StoreWriter) throws {
        // If the list can't be read, it's replaced.
        let stored = try? maintained(in: writer)
        var names = Set(stored ?? [])
        let isChanged = isMaintained ? names.insert(name).inserted : names.remove(name) != nil
        guard isChanged || stored == nil else { return }
        try write(names, in: writer)
    }

    /// Empties the list if it can't be read. Returns a report of the repair.
    static func repairMaintained(in writer: StoreWriter) throws -> [String] {
        do { _ = try maintained(in: writer) } catch  where error.isDamage {
            try write([], in: writer)
            return ["the list of maintained caches was damaged: it is empty now"]
        }
        return []
    }

    private static func write(_ names: Set<String>, in writer: StoreWriter) throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(names.count))
        for name in names.sorted() { bytes.appendText(name) }
        bytes.appendChecksum()
        try writer.setCacheList(.maintained, names.isEmpty ? nil : bytes)
    }
}
