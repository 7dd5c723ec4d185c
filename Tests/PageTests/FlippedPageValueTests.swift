import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexLMDB

/// In each round, the byte at one offset is changed in all values of a table that are long enough, or in a single
/// value. `check` must name each damaged value and no other one, and opening and reading must not end the process.
@Suite struct FlippedPageValueTests {
    /// The number of rounds for each group of values: FETCHINDEX_TEST_FLIPS, which may be "all".
    private static let flips = TestSettings.flips ?? 6
    /// In these tables, a damaged value can keep other values from being read, so one value is flipped at a time.
    private static let single: Set = ["meta", "caches"]

    private let sample: SampleStore
    private let file: DamagedFile
    private let places: [(place: ValuePlace, defect: String)]
    private let pages: Int

    init() throws {
        let sample = try SampleStore.shared.get()
        self.sample = sample
        file = try DamagedFile(sample.data)
        let snapshot = try SampleStore.open(file.folder.path).store.snapshot()
        let caches = try Dictionary(
            uniqueKeysWithValues: SampleStore.orders.map { order in
                (UInt64(try #require(try CacheDirectory.header(order.name, in: snapshot)).number), order.name)
            })
        let values = try file.values()
        pages = values.pages
        places = values.places.map { ($0, sample.defect(of: $0, caches: caches)) }
    }

    @Test func checkNamesEachValueWithAFlippedByte() throws {
        #expect(pages >= 200)
        #expect(Set(places.map(\.place.table)) == ["meta", "records", "log", "unique", "caches", "nodes"])
        #expect(Set(places.map(\.defect)).count == places.count)
        #expect(try file.defects() == [])
        var bytes = 0
        for table in Dictionary(grouping: places, by: \.place.table).sorted(by: { $0.key < $1.key }) {
            let groups = Self.single.contains(table.key) ? table.value.map { [$0] } : [table.value]
            for group in groups { bytes += try flip(group) }
        }
        #expect(try SampleStore.data(in: file.folder) == sample.data)
        if Self.flips == .max {
            #expect(bytes == places.reduce(0) { $0 + $1.place.count })
            print("summary: \(bytes) bytes of \(places.count) values in \(pages) pages flipped, all found")
        }
    }

    /// Flips, for some offsets or for all, the byte at the offset in all values that are long enough, checks the store,
    /// and restores the bytes. Returns the number of flipped bytes.
    private func flip(_ places: [(place: ValuePlace, defect: String)]) throws -> Int {
        let counts = places.map(\.place.count).sorted()
        var rounds = Array(0..<counts[counts.count - 1])
        var generator = SeededGenerator(seed: 61)
        if Self.flips != .max {
            // Most values are short, so half of the offsets are chosen below the median length.
            rounds = Array(rounds.shuffled(using: &generator).prefix(Self.flips / 2))
            rounds += (0..<counts[counts.count / 2]).shuffled(using: &generator).prefix(Self.flips - rounds.count)
        }
        let all = Set(places.map(\.defect))
        var bytes = 0
        for round in rounds {
            let flipped = places.filter { $0.place.count > round }
            let mask = UInt8.random(in: 1...255, using: &generator)
            for (place, _) in flipped { try write(mask, at: place.offset + round) }
            let what = "\(places[0].place.table), byte \(round) ^ \(mask)"
            try expectFound(Set(flipped.map(\.defect)), among: all, what)
            attempt(what) { _ = try SampleStore.open(file.folder.path, creating: true) }
            attempt(what) { try read(what) }
            for (place, _) in flipped { try write(0, at: place.offset + round) }
            bytes += flipped.count
        }
        return bytes
    }

    private func write(_ mask: UInt8, at offset: Int) throws {
        try file.write([sample.data[offset] ^ mask], at: offset)
    }

    /// Expects that `check` names each flipped value, and no other value.
    private func expectFound(_ flipped: Set<String>, among all: Set<String>, _ what: String) throws {
        let defects = try file.defects()
        let named = Set(defects + defects.map { $0.components(separatedBy: ": ")[0] }).intersection(all)
        if named == flipped { return }
        let (missed, wrong) = (flipped.subtracting(named), named.subtracting(flipped))
        Issue.record("\(what): not named: \(missed.prefix(3)), wrongly named: \(wrong.prefix(3)); \(defects.prefix(3))")
    }

    /// Reads the rows and the log, through the caches and without them. Writes nothing, so that the file stays as it
    /// is.
    private func read(_ what: String) throws {
        var options = Store.Options()
        options.isReadOnly = true
        let container = try PersistentContainer(path: file.folder.path, model: nil, options: options)
        let orders = SampleStore.orders
        let fetches = orders.map { (Optional($0.name), $0.definition) } + [(nil, orders[0].definition)]
        for (cacheName, definition) in fetches {
            attempt(what) {
                try container.withOrder(definition, .init(cacheName: cacheName)) { order in
                    try order.forEachRow { row in
                        for slot in order.entity.attributes.indices {
                            attempt(what) { _ = try row.value(at: slot) }
                        }
                    }
                }
            }
        }
        attempt(what) { _ = try container.newContext().fetchHistory(after: 0) }
    }

    /// Expects that the body succeeds or throws a `StoreError`.
    private func attempt(_ what: String, _ body: () throws -> Void) {
        do { try body() } catch is StoreError {} catch {
            Issue.record("\(what): \(type(of: error)): \(error)")
        }
    }
}
