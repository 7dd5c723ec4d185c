import Catalogue
import Foundation
import Stores

// usage: prepare ROWS...
//     makes the stores, databases and catalogues of the benchmarks, and the store of other types, where they are not there yet

for argument in CommandLine.arguments.dropFirst() {
    guard let rows = Int(argument) else { fatalError("usage: prepare ROWS...") }
    // All at once, and the paths while the packages are written: what waits for the disk or for another one leaves a processor idle.
    try await withThrowingTaskGroup(of: Void.self) { group in
        if rows <= 1_000_000 { group.addTask { _ = FileCatalogue.rows(rows, isShuffled: false) } }
        for shape in Shape.allCases where shape == .packages || rows <= 1_000_000 {
            group.addTask { try await Stores(rows: rows, shape).prepare() }
        }
        try await group.waitForAll()
    }
}
try TypedStore().prepare()
