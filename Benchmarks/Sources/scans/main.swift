import FetchIndex
import Foundation

// usage: scans STORE ENTITY KEY
//     answers questions on standard input, one a line: PREDICATE<TAB>SORT KEYS<TAB>LIMIT. For each it prints the seconds that the
//     fetch took, and the values of KEY of its rows, between tabs. No cache is used or made. Benchmarks/Peers/duckdb-scans asks.

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 3 else { fatalError("usage: scans STORE ENTITY KEY") }
let container = try PersistentContainer(at: URL(fileURLWithPath: arguments[0]), isReadOnly: true)
let context = container.newContext()
while let line = readLine() {
    let parts = line.components(separatedBy: "\t")
    guard parts.count == 3, let limit = Int(parts[2]) else { fatalError("not a question: \(line)") }
    var request = FetchRequest<ManagedObject>(entityName: arguments[1])
    if !parts[0].isEmpty { request.predicate = try FetchPredicate(format: parts[0], argumentArray: []) }
    request.sortKeys = try SortKey<ManagedObject>.list(parsing: parts[1])
    request.fetchLimit = limit
    let start = ContinuousClock.now
    let objects = try context.fetch(request)
    let keys = objects.map { $0[arguments[2]].stringValue ?? "" }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    FileHandle.standardOutput.write(Data((([String(seconds)] + keys).joined(separator: "\t") + "\n").utf8))
}
