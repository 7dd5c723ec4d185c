import Benchmark
import FetchIndex
import Foundation
import GRDB
import Stores

/// Inserts rows into an empty store in one transaction. If `isUnique`, one attribute is unique. The peer uses one
/// prepared statement and its default cache. Its table has the constraint before the rows are inserted, like a table in
/// use.
func batchInsert(_ rows: Int, _ shape: Shape, isUnique: Bool = false) {
    let name = "batch insert\(isUnique ? " with unique keys" : "")\(shape.suffix)"
    nonisolated(unsafe) var values: [[Value]] = []
    Benchmark("\(name) | \(rows) | ours", configuration: slow(5, rows: rows)) { benchmark in
        for _ in benchmark.scaledIterations {
            let folder = try Stores.scratch()
            let context = try Stores.emptyContainer(of: shape, isUnique: isUnique, in: folder).newContext()
            benchmark.startMeasurement()
            let request = BatchInsertRequest(entityName: shape.entity().name, rows: values)
            require(try context.execute(request) == rows, "all rows must be inserted")
            benchmark.stopMeasurement()
            try FileManager.default.removeItem(at: folder)
        }
    } setup: {
        shape.forEachRow(rows) { values.append($0) }
    } teardown: {
        values = []
    }

    nonisolated(unsafe) var arguments: [StatementArguments] = []
    Benchmark("\(name) | \(rows) | peer", configuration: slow(5, rows: rows)) { benchmark in
        for _ in benchmark.scaledIterations {
            let folder = try Stores.scratch()
            let queue = try Stores.emptyDatabase(of: shape, isUnique: isUnique, in: folder)
            benchmark.startMeasurement()
            try queue.write { database in
                let insertion = try shape.insertion(into: database)
                for row in arguments {
                    insertion.setUncheckedArguments(row)
                    try insertion.execute()
                }
            }
            benchmark.stopMeasurement()
            try queue.close()
            try FileManager.default.removeItem(at: folder)
        }
    } setup: {
        shape.forEachRow(rows) { arguments.append(Shape.arguments($0)) }
    } teardown: {
        arguments = []
    }
}
