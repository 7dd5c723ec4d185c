import FetchIndex
import Records
import TestSupport
import Testing

/// First imports that begin in the order of their keys and go on in another one.
extension FirstImportTests {
    /// Long keys, so that few of them fill a page.
    private func longID(_ number: Int) -> String {
        "id-\(100_000 + number)" + String(repeating: "x", count: 380)
    }

    /// Begins in the order of the keys and goes on in another one, as sorted files one after the other: some keys have come already,
    /// in the part with keys or in the one without.
    private func interleavedRows(_ generator: inout SeededGenerator) -> [Row] {
        let first = (0..<600).map { (id: longID($0 * 10), size: Int64($0)) }
        let others = (0..<2400).map { _ -> Row in
            (longID(.random(in: 0..<6000, using: &generator)), .random(in: 0...9, using: &generator))
        }
        return first + others
    }

    private func storedSizes() throws -> [String: Value] {
        let context = container.newContext()
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Row"))
        return Dictionary(uniqueKeysWithValues: objects.map { ("\($0["id"])", $0["size"]) })
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>, [300, 100_000])
    func keysThatBecomeScatteredAreLeftOutFromThere(seed: UInt64, most: Int) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = interleavedRows(&generator)
        let writer = try BatchWriter(container, entity: "Row", key: "id")
        writer.deferUniqueKeys(atMost: most)
        var wasDeferred: [Bool] = []
        for start in stride(from: 0, to: rows.count, by: 200) {
            try writer.put(batch(rows[start..<min(start + 200, rows.count)], writer)) { _, _ in }
            try writer.commitBatch()
            let snapshot = try container.store.snapshot()
            wasDeferred.append(!snapshot.hasUniqueKeys(of: 0))
            #expect(try snapshot.check() == [])
            // By its key, or by a scan of those that lack theirs.
            for id in [rows[0].id, rows[start].id] { #expect(try count(of: id) == 1) }
        }
        try writer.commit()
        // The first batch with scattered keys is written with them; where few may be left out, they are written in between.
        let changes = zip(wasDeferred, wasDeferred.dropFirst()).count { $0 != $1 }
        #expect(wasDeferred[..<4] == [false, false, false, false] && wasDeferred[4], "seed \(seed)")
        #expect(most == 300 ? changes > 2 : changes == 1, "\(wasDeferred), seed \(seed)")
        try expectWhole()
        #expect(try stored() == expected(rows), "seed \(seed)")
        #expect(writer.counts.inserted == Set(rows.map(\.id)).count)
        #expect(writer.counts.inserted + writer.counts.updated + writer.counts.unchanged == rows.count)
        for row in rows.suffix(20) { #expect(try count(of: row.id) == 1) }
    }

    /// Scattered keys that are left out are completed by the next writer too: those before them are there.
    @Test func scatteredKeysThatAnImportLeftAreCompleted() throws {
        var generator = SeededGenerator(seed: 7)
        let rows = interleavedRows(&generator)
        do {
            let writer = try writer()
            for start in stride(from: 0, to: 1600, by: 200) {
                try writer.put(batch(rows[start..<start + 200], writer)) { _, _ in }
                try writer.commitBatch()
            }
        }
        #expect(try !container.store.snapshot().hasUniqueKeys(of: 0))
        let other = try BatchWriter(container, entity: "Row", key: "id")
        #expect(try other.object(key: .string(longID(0))) != nil)
        try other.insert([.string("z"), .integer(-1)])
        try other.commit()
        try expectWhole()
        let again = try writer()
        try again.put(batch(rows, again)) { _, _ in }
        try again.commit()
        try expectWhole()
        var expected = ["z": Value.integer(-1)]
        for row in rows { expected[row.id] = .integer(row.size) }
        #expect(try storedSizes() == expected)
    }

    /// What another program has inserted while keys were left out, and before.
    @Test func anotherWriterMayComeBetweenScatteredBatches() throws {
        var generator = SeededGenerator(seed: 8)
        let rows = interleavedRows(&generator)
        let writer = try writer()
        var all: [Row] = []
        for (number, start) in stride(from: 0, to: rows.count, by: 200).enumerated() {
            let part = rows[start..<min(start + 200, rows.count)]
            try writer.put(batch(part, writer)) { _, _ in }
            try writer.commitBatch()
            all += part
            guard number == 2 || number == 5 else { continue }
            let other = try BatchWriter(container, entity: "Row", key: "id")
            let row = (id: longID(6000 + number), size: Int64(number))
            try other.insert([.string(row.id), .integer(row.size)])
            try other.commit()
            try expectWhole()
            all.append(row)
        }
        try writer.commit()
        try expectWhole()
        var expected: [String: Value] = [:]
        for row in all { expected[row.id] = .integer(row.size) }
        #expect(try storedSizes() == expected)
    }
}
