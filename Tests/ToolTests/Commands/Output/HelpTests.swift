import FetchIndexTestSupport
import Foundation
import Testing

/// What the tool says about itself.
@Suite struct HelpTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    @Test func theVersionNamesFormatAndLibraries() throws {
        let result = try tool.run("--version")
        #expect(result.status == 0 && result.error.isEmpty)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 4)
        for (line, name) in zip(lines, ["fetchindex ", "store format ", "LMDB ", "ICU "]) {
            #expect(line.hasPrefix(name) && line.dropFirst(name.count).first?.isNumber == true, "\(line)")
        }
        // A new store has the format that the version names.
        let file = try tool.file("rows.csv", "a\n1\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E").status == 0)
        let information = try tool.run("info", tool.store, "--output", "json")
        #expect(lines[1] == "store format \(information["format"] as? Int ?? 0)")
        let lmdb = information["lmdb"] as? [String: Any]
        #expect(lines[2] == "LMDB \(lmdb?["library"] as? String ?? "")")
    }

    @Test func commandsAreGroupedByTask() throws {
        let help = try tool.run("help").output
        for group in ["LOAD", "FETCH", "CACHE", "MODEL", "INSPECTION", "MAINTENANCE"] {
            #expect(help.contains("\n\(group) SUBCOMMANDS:\n"), "\(group)")
        }
    }

    /// A command of the tool, and its names after `fetchindex`.
    private struct Command {
        let names: [String]
        let discussion: String
    }

    private func commands() throws -> [Command] {
        let dump = try tool.run("--experimental-dump-help").json as? [String: Any]
        func leaves(_ command: [String: Any], _ names: [String]) -> [Command] {
            let inner = (command["subcommands"] as? [[String: Any]] ?? []).filter {
                $0["commandName"] as? String != "help"
            }
            if inner.isEmpty { return [Command(names: names, discussion: command["discussion"] as? String ?? "")] }
            return inner.flatMap { leaves($0, names + [$0["commandName"] as? String ?? ""]) }
        }
        return leaves(dump?["command"] as? [String: Any] ?? [:], [])
    }

    @Test func eachCommandHasAnExampleThatItAccepts() throws {
        let commands = try commands()
        #expect(commands.count > 25)
        for command in commands {
            let name = command.names.joined(separator: " ")
            let parts = command.discussion.components(separatedBy: "Example: fetchindex ")
            guard parts.count == 2 else {
                Issue.record("\(name) has \(parts.count - 1) examples")
                continue
            }
            #expect(parts[1].hasPrefix(name + " "), "\(name)")
            // The store is missing in this folder, so that a command which accepts its arguments ends with 1, not with 2.
            let line = parts[1].split(separator: " >")[0]
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = ["-c", "cd \"$1\" && exec \"$2\" \(line)", "sh", tool.folder.path, Tool.executable.path]
            let error = Pipe()
            shell.standardError = error
            shell.standardOutput = FileHandle.nullDevice
            try shell.run()
            let message = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 1, "\(line): \(message)")
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func completionsAreGenerated(shell: String) throws {
        let result = try tool.run("--generate-completion-script", shell)
        #expect(result.status == 0 && result.output.contains("fetchindex") && result.output.contains("in-section"))
    }
}
