import Catalogue
import Foundation
import Stores

// usage: prepare ROWS...
//     makes the stores, databases and catalogues of the benchmarks, and the store of `TypedStore`, unless they exist

for argument in CommandLine.arguments.dropFirst() {
    guard let rows = Int(argument) else { fatalError("usage: prepare ROWS...") }
    // Everything for one number of rows is made concurrently, and file paths are generated while packages are written.
    // Otherwise a processor could be idle while a task waits for the disk or for another task.
    try await withThrowingTaskGroup(of: Void.self) { group in
        if rows <= 1_000_000 { group.addTask { _ = FileCatalogue.rows(rows, isShuffled: false) } }
        for shape in Shape.allCases where shape == .packages || rows <= 1_000_000 {
            group.addTask { try await Stores(rows: rows, shape).prepare() }
        }
        try await group.waitForAll()
    }
}
try TypedStore().prepare()
