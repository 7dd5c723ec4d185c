import Catalogue
import FetchIndex
import Foundation
import Stores

// usage: figures ROWS...
//     prints measurements as JSON. For each of ROWS: memory, sizes, changes of the model, and indexes. For each number
//     in FETCHINDEX_BENCHMARK_ROWS: aggregates and large saves. For the largest of these numbers that is at most a
//     million, or a million if none is: imports and, unless the run is brief, relationships

/// The anonymous memory of this process in bytes, which doesn't include pages of the mapped file; 0 if it's unknown, as
/// on other systems than Linux.
func privateBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8) else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
        return (Int(line.split(separator: " ")[1]) ?? 0) * 1024
    }
    return 0
}

var figures: [Figure] = []
for argument in CommandLine.arguments.dropFirst() {
    guard let rows = Int(argument) else { fatalError("usage: figures ROWS...") }
    let stores = Stores(rows: rows)
    let container = try stores.container()

    let before = privateBytes()
    var held: FetchedOrder?
    try container.withOrder(stores.definition, Stores.options()) { order in
        held = order
        try order.forEachRow(limit: 50) { row in _ = try row.value(at: 0) }
        for step in 0..<100 { try order.withRow(at: order.rowCount / 100 * step) { row in _ = try row.value(at: 0) } }
    }
    let added = Double(privateBytes() - before) / 1_048_576
    withExtendedLifetime(held) {}
    figures.append(
        Figure(question: "private memory added by an open order", rows: rows, value: added, limit: 8, unit: "MiB"))

    let beforeLive = privateBytes()
    let context = container.newContext()
    let controller = try stores.controller(context)
    try controller.performFetch()
    for section in controller.sections { _ = section.name }
    for row in 0..<50 { controller.fetchedObjects?[row]["size"] = .integer(Int64(row)) }
    try context.save()
    let addedLive = Double(privateBytes() - beforeLive) / 1_048_576
    withExtendedLifetime(controller) {}
    figures.append(
        Figure(
            question: "private memory added by a live controller", rows: rows, value: addedLive, limit: 16,
            unit: "MiB"))

    // A row key has the section's value and the name, each with a tag and a terminator (3 bytes), and the object's
    // number (6 bytes).
    var keyBytes = 0
    var rowCount = 0
    try container.withOrder(stores.definition, Stores.options()) { order in
        rowCount = order.rowCount
        try order.forEachRow { row in
            guard case .string(let name) = try row.value(at: 0), case .string(let section) = try row.value(at: 1)
            else { return }
            keyBytes += name.utf8.count + section.utf8.count + 12
        }
    }
    try container.deleteCache(named: Stores.cacheName)
    try container.withOrder(stores.definition, Stores.options()) { _ in }
    let statistics = try container.cacheStatistics().first { $0.name == Stores.cacheName }
    // A node takes a page, and an entry of about 32 bytes in LMDB's own tree.
    let bytes = (statistics?.nodeCount ?? 0) * (4096 + 32)
    figures.append(
        Figure(
            question: "size of the order, divided by its keys plus 8 bytes a row", rows: rows,
            value: Double(bytes) / Double(keyBytes + 8 * rowCount), limit: 1.5, unit: "times"))
}
for rows in CommandLine.arguments.dropFirst().compactMap(Int.init) {
    figures += try ModelFigures(Stores(rows: rows)).measure()
    figures += try IndexFigures(Stores(rows: rows)).measure()
}
let rowCounts = (ProcessInfo.processInfo.environment["FETCHINDEX_BENCHMARK_ROWS"] ?? "10000 100000 1000000")
    .split(separator: " ").compactMap { Int($0) }
for rows in rowCounts {
    let stores = Stores(rows: rows)
    figures += try stores.withCopies(2) { copies in
        // Saves are measured first, because measuring aggregates deletes the cache that a save keeps current.
        let saves = try LargeSaveFigures(stores).measure(at: copies)
        return try AggregateFigures(stores).measure(at: copies) + saves
    }
}
let importedRows = rowCounts.filter { $0 <= 1_000_000 }.max() ?? 1_000_000
figures += try ImportFigures(rows: importedRows).measure()
if !isBrief {
    figures += try RelationshipFigures(rows: importedRows).measure()
}
print(String(decoding: try JSONEncoder().encode(figures), as: UTF8.self))
