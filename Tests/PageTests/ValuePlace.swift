@testable import FetchIndexLMDB
import FetchIndexModels
import Foundation
import FetchIndexOrderCaches
import FetchIndexTestSupport

@testable import FetchIndexRecords

/// A value of one of the store's tables, and its offset in the data file.
struct ValuePlace {
    let table: String
    let key: [UInt8]
    /// The offset of the value in the file. On overflow pages, the value begins after the header of the first page.
    let offset: Int
    let count: Int
}

extension DamagedFile {
    /// All values in the tables with their offsets in the file, and the number of pages of the tables and of the main
    /// tree.
    func values() throws -> (places: [ValuePlace], pages: Int) {
        guard let file = try DataFile(inFolder: folder.path), let metas = try MetaPage.both(of: file) else {
            throw DataFileError.damaged("data.mdb is missing")
        }
        let length = try file.length()
        let walk = try PageWalk(file, MetaPage.newest(of: metas), fileLength: length)
        var trees: [(name: String, tree: TreeRecord)] = []
        _ = try walk.walk(walk.meta.main, "the main tree", keys: .bytes) { page, key, value in
            guard case .table(let range) = value else { return "holds no table" }
            let bytes = page.bytes(range)
            trees.append((PageLayout.linked.tableName(page.bytes(key)), TreeRecord(bytes.span.bytes)))
            return nil
        }
        var places: [ValuePlace] = []
        for (name, tree) in trees {
            _ = try walk.walk(tree, name, keys: tree.keys ?? .bytes) { page, key, value in
                let (offset, count): (Int, Int)
                switch value {
                case .here(let range):
                    (offset, count) = (Int(page.pageNumber) * Self.pageSize + range.lowerBound, range.count)
                case .overflow(let run, let byteCount):
                    (offset, count) = (Int(run.first) * Self.pageSize + Self.headerLength, byteCount)
                case .table, .unknown: return "holds no value"
                }
                places.append(ValuePlace(table: name, key: page.bytes(key), offset: offset, count: count))
                return nil
            }
        }
        return (places, walk.used.count)
    }
}

extension SampleStore {
    /// The sentence with which `check` reports that a value of the sample is damaged; for a record, only the beginning
    /// of the sentence.
    func defect(of place: ValuePlace, caches: [UInt64: String]) -> String {
        let number = place.key.count == 8 ? place.key.number(at: 0, as: UInt64.self) : 0
        func mismatch(_ subject: String) -> String { "the store is damaged: \(subject) does not match its checksum" }
        func name(_ object: RecordKey) -> String { "\(entityNames[object.entity]) \(object.number)" }
        switch place.table {
        case "records": return name(RecordKey(rawValue: number))
        case "unique" where place.key[0] >= 0x80:
            let target = name(RecordKey(rawValue: UInt64(bigEndian: place.key.number(at: 4, as: UInt64.self))))
            if place.key.count == 12 {
                let holders = entityNames[Int(UInt16(bigEndian: place.key.number(at: 0, as: UInt16.self)) & 0x7FFF)]
                return "links of \(holders) to \(target): " + mismatch("the number of links to an object")
            }
            let holder = RecordKey(
                rawValue: UInt64(bigEndian: place.key.number(at: place.key.count - 8, as: UInt64.self)))
            return "the link of \(name(holder)) to \(target) does not match its checksum"
        case "unique":
            let bytes = data[place.offset..<place.offset + place.count - 4]
            let object = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return "Item \(object): its unique key for id: " + mismatch("a unique key's value")
        case "log": return mismatch(LogKey(place.key.span.bytes)?.name ?? "")
        case "nodes":
            return
                "cache \"\(caches[number >> 40] ?? "")\": node \(number & 0xFF_FFFF_FFFF) does not match its checksum"
        case "caches":
            return "cache \"\(String(decoding: place.key, as: UTF8.self))\": its header is unusable: damaged"
        default: break
        }
        if let zone = ZoneKey(place.key.span.bytes) { return mismatch(zone.name) }
        if let column = TextColumnKey(place.key.span.bytes) { return mismatch(column.name) }
        switch String(decoding: place.key.prefix(6), as: UTF8.self) {
        case "format": return mismatch("the format version")
        case "model": return mismatch("the model")
        case "state": return mismatch("the store's state")
        case "identi": return mismatch("the store's identifier")
        default: return "\(entityNames[Int(place.key[6])])'s counters: " + mismatch("an entity's state")
        }
    }
}
