import Foundation
import Stores

// usage: prepare ROWS...      makes the stores and databases of the benchmarks, where they are not there yet

for argument in CommandLine.arguments.dropFirst() {
    guard let rows = Int(argument) else { fatalError("usage: prepare ROWS...") }
    try Stores(rows: rows).prepare()
}
