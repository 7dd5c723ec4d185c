internal import FetchIndexFaultScript
internal import FetchIndex
internal import Foundation

/// A program that tests kill, starve of resources, make fail, and trace.
///
/// usage: Victim script|faults|writer|reader|watcher|starved STORE [NAME=VALUE]...
@main
enum Victim {
    static func main() {
        do {
            let arguments = try VictimArguments(CommandLine.arguments.dropFirst())
            switch arguments.mode {
            #if os(Linux)
                case "script": try ScriptRun(arguments).run()
                case "faults": try FaultRun(arguments).run()
            #endif
            case "writer": try LedgerWriter(arguments).run()
            case "reader": try LedgerReader(arguments).run()
            case "watcher": try LedgerWatcher(arguments).run()
            case "starved": try StarvedProgram(arguments).run()
            default: throw VictimArguments.Wrong(text: "\(arguments.mode) is not a mode")
            }
        } catch {
            VictimOutput.line("defect \(error)")
            exit(1)
        }
    }
}

/// Prints lines that the test reads. Each line is written by one call, so that it's complete or missing.
enum VictimOutput {
    static func line(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}

/// The mode, the store, and the other values of the command line.
struct VictimArguments {
    let mode: String
    let store: String
    private var values: [String: String] = [:]

    struct Wrong: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    init(_ arguments: some Sequence<String>) throws {
        let arguments = Array(arguments)
        guard arguments.count >= 2 else { throw Wrong(text: "usage: Victim MODE STORE [NAME=VALUE]...") }
        mode = arguments[0]
        store = arguments[1]
        for argument in arguments.dropFirst(2) {
            let parts = argument.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { throw Wrong(text: "\(argument) is not NAME=VALUE") }
            values[String(parts[0])] = String(parts[1])
        }
    }

    subscript(name: String) -> String? { values[name] }

    func number(_ name: String, or other: Int) -> Int { values[name].flatMap { Int($0) } ?? other }

    var seed: UInt64 { UInt64(number("seed", or: 1)) }

    var durability: Durability {
        switch values["durability"] {
        case "relaxed": .relaxed
        case "none": .none
        default: .full
        }
    }
}
