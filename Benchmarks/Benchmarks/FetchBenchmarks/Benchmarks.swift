import Benchmark
import Catalogue
import FetchIndex
import Foundation
import GRDB
import Stores

// Names are "question | rows | side"; the report pairs the sides. The peer is SQLite through GRDB on the same rows. If
// a cached order answers the question, the peer has an index for it. If a question concerns FetchIndex alone,
// its second side, if any, is FetchIndex used in another way, and has the name of that way.

let rowCounts = (ProcessInfo.processInfo.environment["FETCHINDEX_BENCHMARK_ROWS"] ?? "10000 100000 1000000")
    .split(separator: " ").compactMap { Int($0) }

/// Returns the configuration of a fast question. In a brief run, each of its sides is measured for at most about
/// 100 ms.
func quick(_ seconds: Int) -> Benchmark.Configuration {
    .init(
        metrics: [.wallClock, .throughput], warmupIterations: isBrief ? 1 : 2,
        maxDuration: isBrief ? .milliseconds(100) : .seconds(seconds), maxIterations: 2000)
}

/// Returns the configuration of a slow question. For at most 10,000 rows it has up to 20 iterations, because each takes
/// only milliseconds and the first ones take longer. For more rows, a brief run has no warm-up. A slower first
/// iteration hardly matters: the run reports the median, which for two iterations is the time of the faster one.
func slow(_ iterations: Int, brief: Int = 2, rows: Int) -> Benchmark.Configuration {
    .init(
        metrics: [.wallClock, .throughput], warmupIterations: isBrief && rows > 10_000 ? 0 : 1,
        maxDuration: isBrief ? .seconds(1) : .seconds(240),
        maxIterations: rows <= 10_000 ? 20 : isBrief ? brief : iterations)
}

/// Ends the process if a condition is false, because a benchmark that doesn't do its work must not report a time.
func require(_ isTrue: Bool, _ what: String) {
    if !isTrue { fatalError(what) }
}

let benchmarks: @Sendable () -> Void = {
    for rows in rowCounts {
        let stores = Stores(rows: rows)
        warmFetch(stores)
        randomRow(stores)
        build(stores)
        catchUp(stores)
        live(stores)
        scans(stores)
        firstRows(stores)
        rangeCount(stores)
        for shape in [Shape.files, .shuffledFiles] where rows <= 1_000_000 {
            let stores = Stores(rows: rows, shape)
            if shape == .files {
                warmFetch(stores)
                firstRows(stores)
            }
            build(stores)
        }
    }
    parse()
    typedScans(TypedStore())
    merges(TypedStore())
    if let rows = rowCounts.last(where: { $0 <= (isBrief ? 100_000 : 1_000_000) }) {
        batchInsert(rows, .packages)
        for shape in [Shape.files, .shuffledFiles] { batchInsert(rows, shape, isUnique: true) }
    }
}

/// Opens the store and the named order, and reads all section names and counts and the first 50 rows.
///
/// Warm: the process has the store open elsewhere, like a running program; the peer keeps its connection and its page cache. "After
/// opening the file": both open their file each time, from the system's page cache.
func warmFetch(_ stores: Stores) {
    let rows = stores.rows
    nonisolated(unsafe) var kept: PersistentContainer?
    Benchmark("warm fetch\(stores.shape.suffix) | \(rows) | ours", configuration: quick(3)) { benchmark in
        for _ in benchmark.scaledIterations { try fetch(stores) }
    } setup: {
        kept = try stores.container()
        try kept?.withOrder(stores.definition, Stores.options()) { _ in }
    } teardown: {
        kept = nil
    }

    nonisolated(unsafe) var queue: DatabaseQueue?
    Benchmark("warm fetch\(stores.shape.suffix) | \(rows) | peer", configuration: quick(10)) { benchmark in
        for _ in benchmark.scaledIterations { try queue!.read { try fetchFromPeer(stores.shape, $0) } }
    } setup: {
        queue = try stores.database()
    } teardown: {
        queue = nil
    }

    Benchmark("fetch after opening the file\(stores.shape.suffix) | \(rows) | ours", configuration: quick(3)) {
        benchmark in
        for _ in benchmark.scaledIterations { try fetch(stores) }
    } setup: {
        try stores.container().withOrder(stores.definition, Stores.options()) { _ in }
    }

    Benchmark("fetch after opening the file\(stores.shape.suffix) | \(rows) | peer", configuration: quick(10)) {
        benchmark in
        for _ in benchmark.scaledIterations { try stores.database().read { try fetchFromPeer(stores.shape, $0) } }
    }
}

func fetch(_ stores: Stores) throws {
    let container = try stores.container()
    try container.withOrder(stores.definition, Stores.options()) { order in
        require(order.outcome == .hit, "the cache must be warm")
        var count = 0
        try order.forEachSection { section in
            count += section.count
            blackHole(section.name)
            return true
        }
        require(count == order.rowCount, "sections must count all rows")
        try order.forEachRow(limit: 50) { row in
            for slot in stores.shape.columns.indices { blackHole(try row.value(at: slot)) }
        }
    }
}

func fetchFromPeer(_ shape: Shape, _ database: Database) throws {
    let sections = try Row.fetchAll(
        database.cachedStatement(sql: "SELECT section, COUNT(*) FROM \(shape.table) GROUP BY section"))
    for section in sections { blackHole((section[0] as String, section[1] as Int)) }
    let page = try Row.fetchAll(
        database.cachedStatement(sql: "SELECT * FROM \(shape.table) ORDER BY section, \(shape.sortKey) LIMIT 50"))
    require(page.count == 50, "there must be 50 rows")
    for row in page { for column in 1...shape.columns.count { blackHole(row[column] as DatabaseValue) } }
}

/// Reads a row at a random position, with all values of its record.
func randomRow(_ stores: Stores) {
    let rows = stores.rows
    nonisolated(unsafe) var held: FetchedOrder?
    nonisolated(unsafe) var catalogue = Catalogue(seed: 7)
    Benchmark("row at random position | \(rows) | ours", configuration: quick(3)) { benchmark in
        let order = held!
        for _ in benchmark.scaledIterations {
            try order.withRow(at: catalogue.int(order.rowCount)) { row in
                for slot in 0..<7 { blackHole(try row.value(at: slot)) }
            }
        }
    } setup: {
        try stores.container().withOrder(stores.definition, Stores.options()) { held = $0 }
    } teardown: {
        held = nil
    }

    nonisolated(unsafe) var queue: DatabaseQueue?
    Benchmark("row at random position | \(rows) | peer", configuration: quick(10)) { benchmark in
        for _ in benchmark.scaledIterations {
            try queue!.read { database in
                let statement = try database.cachedStatement(
                    sql: "SELECT * FROM package ORDER BY section, name LIMIT 1 OFFSET ?")
                let row = try Row.fetchOne(statement, arguments: [catalogue.int(rows)])
                for column in 1...7 { blackHole(row![column] as DatabaseValue) }
            }
        }
    } setup: {
        queue = try stores.database()
    } teardown: {
        queue = nil
    }
}

/// Builds the order with its sections; the peer creates its index and groups by it.
func build(_ stores: Stores) {
    let rows = stores.rows
    Benchmark("first build\(stores.shape.suffix) | \(rows) | ours", configuration: slow(5, rows: rows)) { benchmark in
        let container = try stores.container()
        for _ in benchmark.scaledIterations {
            try container.deleteCache(named: Stores.cacheName)
            benchmark.startMeasurement()
            try container.withOrder(stores.definition, Stores.options()) { order in
                require(order.outcome == .rebuilt(.first), "the order must be built")
            }
            benchmark.stopMeasurement()
        }
    }

    Benchmark("first build\(stores.shape.suffix) | \(rows) | peer", configuration: slow(5, rows: rows)) { benchmark in
        let queue = try stores.database()
        for _ in benchmark.scaledIterations {
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "DROP INDEX IF EXISTS by_section")
                benchmark.startMeasurement()
                try database.execute(sql: stores.shape.createIndex)
                blackHole(
                    try Row.fetchAll(
                        database, sql: "SELECT section, COUNT(*) FROM \(stores.shape.table) GROUP BY section"))
                benchmark.stopMeasurement()
            }
        }
    }
}

/// Catches up a cache that is 1,000 random changes behind; for comparison, rebuilds the cache.
func catchUp(_ stores: Stores) {
    let rows = stores.rows
    for (name, durability) in [("", Durability.none), (" (durable)", .full)] where durability == .none || !isBrief {
        nonisolated(unsafe) var seed = UInt64(Date().timeIntervalSince1970 * 1000)
        // A copy is changed, because other questions need the same rows on both sides.
        nonisolated(unsafe) var copy: URL?
        Benchmark("catch up 1,000 changes\(name) | \(rows) | ours", configuration: slow(15, rows: rows)) { benchmark in
            let container = try PersistentContainer(at: copy!, durability: durability)
            for _ in benchmark.scaledIterations {
                seed += 1
                try stores.change(1000, in: container, seed: seed)
                benchmark.startMeasurement()
                try container.withOrder(stores.definition, Stores.options()) { order in
                    guard case .caughtUp(let change) = order.outcome else { fatalError("\(order.outcome)") }
                    require(change.rows.count > 800, "the change must be reported")
                }
                benchmark.stopMeasurement()
            }
        } setup: {
            copy = try stores.copyStore()
            // All rows are read once, so that disk reads aren't measured.
            try PersistentContainer(at: copy!).withOrder(stores.definition, Stores.options()) { order in
                try order.forEachRow { row in blackHole(try row.value(at: 0)) }
            }
        } teardown: {
            try FileManager.default.removeItem(at: copy!.deletingLastPathComponent())
        }

        Benchmark("catch up 1,000 changes\(name) | \(rows) | rebuild", configuration: slow(5, rows: rows)) {
            benchmark in
            let container = try stores.container(durability: durability)
            for _ in benchmark.scaledIterations {
                try container.deleteCache(named: Stores.cacheName)
                benchmark.startMeasurement()
                try container.withOrder(stores.definition, Stores.options()) { _ in }
                benchmark.stopMeasurement()
            }
        }
    }
}
