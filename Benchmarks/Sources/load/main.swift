import Foundation
import Stores

// usage: load ROWS SECONDS
//     measures one reader alone, one reader with a writer, and eight readers with a writer, SECONDS each
//
// Readers read rows with their records at random positions of a cached order, and advance to the newest state about ten
// times a second. The writer saves up to 100 changes a second. Each save is a durable commit of a random row's name or
// size, through a context with a live controller, which keeps the cache current. The writer and each reader are
// separate processes.

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "reader": try Reader(arguments).run()
case "writer": try Writer(arguments).run()
default:
    guard arguments.count == 2, let rows = Int(arguments[0]), let seconds = Int(arguments[1]) else {
        fatalError("usage: load ROWS SECONDS")
    }
    try await Measurement(rows: rows, seconds: seconds).run()
}
