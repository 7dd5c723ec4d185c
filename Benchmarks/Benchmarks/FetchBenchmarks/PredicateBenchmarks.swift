import Benchmark
import FetchIndex
import GRDB
import Stores

// Predicates whose records must be found by a scan, a count that a cached order answers, and the parsing of a
// predicate.

/// Fetches the ids of all matching rows, by a scan on both sides.
func scans(_ stores: Stores) {
    let questions = [
        ("scan name CONTAINS", "name CONTAINS 'json'", "name LIKE '%json%'"),
        ("scan name CONTAINS[cd]", "name CONTAINS[cd] 'json'", "name LIKE '%json%'"),
        ("scan size >", "size > 400000", "size > 400000"),
    ]
    for (question, format, condition) in questions {
        scan(stores, "\(question) | \(stores.rows)", format, condition)
    }
}

/// Fetches the first 50 rows that match a text filter, sorted by a column without an index. Both sides read all columns.
func firstRows(_ stores: Stores) {
    let shape = stores.shape
    let (text, sortKey) = shape == .packages ? ("json", "size") : ("doc", "length")
    nonisolated(unsafe) var context: ManagedObjectContext?
    Benchmark("first 50 rows, filtered and sorted\(shape.suffix) | \(stores.rows) | ours", configuration: quick(5)) {
        benchmark in
        for _ in benchmark.scaledIterations {
            var request = FetchRequest<ManagedObject>(entityName: shape.entity().name)
            request.predicate = try FetchPredicate("\(shape.sortKey) CONTAINS %@", text)
            request.sortKeys = [SortKey(sortKey, .descending), SortKey(shape.sortKey)]
            request.fetchLimit = 50
            let objects = try context!.fetch(request)
            require(objects.count == 50, "there must be 50 rows")
            for object in objects { for column in shape.columns { blackHole(object[column]) } }
        }
    } setup: {
        context = try stores.container().newContext()
    } teardown: {
        context = nil
    }

    nonisolated(unsafe) var queue: DatabaseQueue?
    Benchmark("first 50 rows, filtered and sorted\(shape.suffix) | \(stores.rows) | peer", configuration: quick(5)) {
        benchmark in
        for _ in benchmark.scaledIterations {
            let rows = try queue!.read { database in
                try Row.fetchAll(
                    database,
                    sql: "SELECT * FROM \(shape.table) NOT INDEXED WHERE \(shape.sortKey) LIKE '%\(text)%' "
                        + "ORDER BY \(sortKey) DESC, \(shape.sortKey) LIMIT 50")
            }
            require(rows.count == 50, "there must be 50 rows")
            for row in rows { for column in 1...shape.columns.count { blackHole(row[column] as DatabaseValue) } }
        }
    } setup: {
        queue = try stores.database()
    } teardown: {
        queue = nil
    }
}

private func scan(_ stores: Stores, _ name: String, _ format: String, _ condition: String) {
    nonisolated(unsafe) var context: ManagedObjectContext?
    nonisolated(unsafe) var found = 0
    Benchmark("\(name) | ours", configuration: quick(5)) { benchmark in
        for _ in benchmark.scaledIterations {
            var request = FetchRequest<ManagedObject>(entityName: "Package")
            request.predicate = try FetchPredicate(format)
            request.resultType = .objectIDs
            guard case .objectIDs(let ids) = try context!.execute(request) else { fatalError("ids must be fetched") }
            found = ids.count
        }
    } setup: {
        context = try stores.container().newContext()
    } teardown: {
        context = nil
    }

    nonisolated(unsafe) var queue: DatabaseQueue?
    Benchmark("\(name) | peer", configuration: quick(5)) { benchmark in
        for _ in benchmark.scaledIterations {
            let ids = try queue!.read { database in
                try Int64.fetchAll(
                    try database.cachedStatement(sql: "SELECT rowid FROM package NOT INDEXED WHERE \(condition)"))
            }
            require(found == 0 || ids.count == found, "both must find the same number of rows: \(ids.count), \(found)")
        }
    } setup: {
        queue = try stores.database()
    } teardown: {
        queue = nil
    }
}

/// Counts the rows in a range that contains about half of all rows, by a cached order and by the peer's index.
func rangeCount(_ stores: Stores) {
    let name = "count of a range | \(stores.rows)"
    let cache = PersistentContainer.OrderOptions(cacheName: "by size")
    nonisolated(unsafe) var context: ManagedObjectContext?
    nonisolated(unsafe) var request = FetchRequest<ManagedObject>(entityName: "Package")
    nonisolated(unsafe) var found = 0
    Benchmark("\(name) | ours", configuration: quick(3)) { benchmark in
        for _ in benchmark.scaledIterations {
            found = try context!.count(for: request)
        }
        require(abs(found * 2 - stores.rows) < stores.rows / 10, "about half of the rows must be counted: \(found)")
    } setup: {
        let container = try stores.container()
        try container.withOrder(OrderDefinition(entity: "Package", sortKeys: [SortKey("size")]), cache) { _ in }
        context = container.newContext()
        // The predicate is parsed once, like the peer's statement.
        request.predicate = try FetchPredicate("size > %d", 2630)
    } teardown: {
        context = nil
        try stores.container().deleteCache(named: "by size")
    }

    nonisolated(unsafe) var queue: DatabaseQueue?
    Benchmark("\(name) | peer", configuration: quick(3)) { benchmark in
        for _ in benchmark.scaledIterations {
            let count = try queue!.read { database in
                try Int.fetchOne(
                    try database.cachedStatement(sql: "SELECT COUNT(*) FROM package WHERE size > ?"),
                    arguments: [2630])
            }
            require(found == 0 || count == found, "both counts must be equal")
        }
    } setup: {
        queue = try stores.database()
        try queue?.writeWithoutTransaction { try $0.execute(sql: "CREATE INDEX by_size ON package(size)") }
    } teardown: {
        try queue?.writeWithoutTransaction { try $0.execute(sql: "DROP INDEX by_size") }
        queue = nil
    }
}

/// Parses a predicate; the peer prepares a statement with a similar condition.
func parse() {
    Benchmark("parse a predicate | 1 | ours", configuration: quick(2)) { benchmark in
        for _ in benchmark.scaledIterations {
            blackHole(try FetchPredicate("section == %@ AND size < %d AND name CONTAINS[cd] 'json'", "libs", 2000))
        }
    }

    nonisolated(unsafe) let queue = try? DatabaseQueue()
    Benchmark("parse a predicate | 1 | peer", configuration: quick(2)) { benchmark in
        for _ in benchmark.scaledIterations {
            try queue!.read { database in
                blackHole(
                    try database.makeStatement(
                        sql: "SELECT rowid FROM package WHERE section = ? AND size < ? AND name LIKE '%json%'"))
            }
        }
    } setup: {
        try queue?.writeWithoutTransaction {
            try $0.execute(sql: "CREATE TABLE IF NOT EXISTS package (section TEXT, size INTEGER, name TEXT)")
        }
    }
}
