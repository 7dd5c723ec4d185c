import Foundation
import Stores

// usage: load ROWS SECONDS        measures a reader alone, with a writer, and eight readers with it, SECONDS each
//
// Readers read rows at random positions of a named order, each with its record, and advance to the newest state ten times a second. The
// writer saves 100 changes a second, each a durable commit of one random row's name or size, through a context with a live controller,
// which keeps the order current. The writer and each reader are processes of their own.

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
