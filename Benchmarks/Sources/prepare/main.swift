import Catalogue
import Foundation
import Stores

// usage: prepare ROWS...      makes the stores and databases of the benchmarks, where they are not there yet

for argument in CommandLine.arguments.dropFirst() {
    guard let rows = Int(argument) else { fatalError("usage: prepare ROWS...") }
    // The paths are made while the packages are written.
    let paths = Task.detached { if rows <= 1_000_000 { _ = FileCatalogue.rows(rows, isShuffled: false) } }
    for shape in Shape.allCases where shape == .packages || rows <= 1_000_000 {
        try await Stores(rows: rows, shape).prepare()
    }
    await paths.value
}
try TypedStore().prepare()
