import FetchIndexPlatform
@testable import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Changes bytes of values, keys and whole entries in the tables of a store. Errors must be of public types, and
/// nothing may trap. No read may return a value with a changed byte. If a read throws an error, or is wrong because an
/// entry is missing, misplaced or shortened, `check` must report a defect.
@Suite(.serialized) struct FlippedValueTests {
    /// The number of bytes that are changed in each table: FETCHINDEX_TEST_FLIPS, which may be "all", by default 40.
    static let flips = TestSettings.flips ?? 40

    @Test(arguments: DamageableStore.tables) func aFlippedByteIsReportedOrDoesNoHarm(table: String) throws {
        var generator = SeededGenerator(seed: 51)
        let store = try DamageableStore()
        let sound = DamageProbe(try store.copy())
        #expect(sound.defects == [])
        #expect(sound.strangeErrors == [])
        #expect(sound.contents.count == 13)
        let entries = store.entries.filter { $0.table == table }
        var places = entries.flatMap { entry in entry.value.indices.map { (entry, $0) } }
        #expect(!places.isEmpty)
        places = Array(places.shuffled(using: &generator).prefix(Self.flips))
        for (entry, offset) in places {
            var value = entry.value
            value[offset] ^= UInt8.random(in: 1...255, using: &generator)
            let place = "\(table) \(entry.key), byte \(offset) of \(value.count) is \(value[offset])"
            try expectHarmless([(entry.key, table, value)], of: store, sound, place, isValue: true)
        }
    }

    @Test(arguments: DamageableStore.tables) func missingMisplacedAndShortenedEntriesAreReportedOrDoNoHarm(
        table: String
    ) throws {
        var generator = SeededGenerator(seed: 52)
        let store = try DamageableStore()
        let sound = DamageProbe(try store.copy())
        let entries = store.entries.filter { $0.table == table }
        // First all entries are removed together. After that, each of some entries is removed, put under another key,
        // given another entry's value, and shortened.
        try expectHarmless(entries.map { ($0.key, table, nil) }, of: store, sound, "\(table) without entries")
        for entry in entries.shuffled(using: &generator).prefix(Self.flips / 4) {
            try expectHarmless([(entry.key, table, nil)], of: store, sound, "\(table) without \(entry.key)")
            var key = entry.key
            key[Int.random(in: key.indices, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
            try expectHarmless(
                [(entry.key, table, nil), (key, table, entry.value)], of: store, sound,
                "\(table) \(entry.key) as \(key)")
            if let other = entries.randomElement(using: &generator) {
                try expectHarmless(
                    [(entry.key, table, other.value)], of: store, sound,
                    "\(table) \(entry.key) with the value of \(other.key)")
            }
            let cut = [UInt8](entry.value.prefix(Int.random(in: 0..<entry.value.count, using: &generator)))
            try expectHarmless(
                [(entry.key, table, cut)], of: store, sound, "\(table) \(entry.key) cut to \(cut.count) bytes")
        }
    }

    /// If two caches had the same number, a change of one cache would change the nodes of the other cache.
    @Test func twoCachesWithTheSameNumberAreReportedAndRepaired() throws {
        let store = try DamageableStore()
        let name = Array("fresh, too".utf8)
        var header = try #require(store.entries.first { $0.key == Array("fresh".utf8) }).value
        header.removeLast(4)
        header.appendChecksum(with: name.span.bytes.checksum)
        let folder = try store.copy([(name, "caches", header)])
        let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: folder.path)) { _, _ in }
        #expect(repair.defects.count == 2)
        #expect(repair.defects.allSatisfy { $0.contains("is invalid or belongs to another cache too") })
        #expect(repair.repairs.count == 1, "\(repair)")
        #expect(repair.left == [], "\(repair)")
        #expect(DamageProbe(folder).defects == [])
    }

    private func expectHarmless(
        _ changes: [(key: [UInt8], table: String, value: [UInt8]?)], of store: DamageableStore, _ sound: DamageProbe,
        _ what: String, isValue: Bool = false
    ) throws {
        let folder = try store.copy(changes)
        let probe = DamageProbe(folder)
        // No read may return a damaged value, even if nobody runs `check`.
        for (name, contents) in probe.contents where isValue && contents != sound.contents[name] {
            Issue.record("\(what): \(name) is \(contents)")
        }
        if probe.defects.isEmpty {
            for name in sound.contents.keys.sorted() where probe.contents[name] != sound.contents[name] {
                Issue.record("\(what): check finds nothing, and \(name) is \(String(describing: probe.contents[name]))")
            }
        }
        probe.work()
        #expect(probe.strangeErrors == [], "\(what)")
    }
}
