import Foundation
import Testing

/// The drawing and the table of rooms in ReadingTheSource.md agree with the targets of Package.swift.
@Suite struct DrawingTests {
    /// The lines of a file of the repository.
    private func lines(_ path: String) throws -> [Substring] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// A target that Package.swift declares.
    private struct Target {
        /// The layer: the lower-cased name in the last line like "// MARK: Ground" before the declaration.
        let layer: String
        /// The path of the target's folder in Sources.
        let folder: String
        /// The quoted names in the declaration. The first name is the target's own.
        var names: [String]
    }

    private func targets() throws -> [Target] {
        var targets: [Target] = []
        var (layer, prefix) = ("", "")
        for line in try lines("Package.swift") {
            if let mark = line.range(of: "// MARK: ") { layer = line[mark.upperBound...].lowercased() }
            if layer.isEmpty || line.contains("//") { continue }
            if let kind = [".room(", ".cLibrary(", "arget(", ".systemLibrary("].first(where: { line.contains($0) }) {
                prefix = [".room(": "FetchIndex", ".cLibrary(": "CFetchIndex"][kind] ?? ""
                targets.append(Target(layer: layer, folder: "", names: []))
            }
            if targets.isEmpty { continue }
            for (index, text) in line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            where index % 2 == 1 {
                targets[targets.count - 1].names.append(prefix + text)
                prefix = ""
            }
        }
        return targets.map { target in
            let path = target.names.first { $0.hasPrefix("Sources/") }?.dropFirst("Sources/".count)
            let folder = path.map(String.init) ?? String(target.names[0].dropFirst("FetchIndex".count))
            return Target(layer: target.layer, folder: folder, names: target.names)
        }
    }

    @Test func theDrawingShowsEachTargetInItsLayer() throws {
        var drawn: [String: Set<String>] = [:]
        let text = try lines("Sources/FetchIndex/FetchIndex.docc/Inside/ReadingTheSource.md")
        let drawing = text.drop { $0 != "```" }.dropFirst().prefix { $0 != "```" }
        for line in drawing {
            let layer = line.prefix { $0 != " " }
            drawn[String(layer)] = Set(
                line.dropFirst(layer.count).split(separator: "·").map { $0.trimmingCharacters(in: .whitespaces) })
        }
        var declared: [String: Set<String>] = [:]
        for target in try targets() where !["tests", ""].contains(target.layer) {
            if target.names.contains("Benchmarks/Page") { continue }
            let folder =
                target.names[0] == "FetchIndex"
                ? "FetchIndex"
                : target.names[0].hasPrefix("CFetchIndex")
                    ? "CLibraries" : target.folder.replacingOccurrences(of: "Tools/", with: "")
            declared[target.layer, default: []].insert(folder)
        }
        #expect(declared == drawn)
        #expect(declared.count == 7)
    }

    @Test func eachTargetDependsOnlyOnTargetsBeforeIt() throws {
        var known: Set<String> = []
        let targets = try targets()
        let own = Set(targets.map { $0.names[0] })
        for target in targets {
            for name in target.names.dropFirst() where own.contains(name) && name != "fetchindex" {
                #expect(known.contains(name), "\(target.names[0]) uses \(name)")
            }
            known.insert(target.names[0])
        }
        #expect(known.count > 30)
    }

    /// Satellites and tools may depend on FetchIndex, on the vocabularies that it re-exports, on the ground layer and
    /// on satellites. `Scripts/check` checks their imports.
    @Test func satellitesAndToolsDependOnNoInternalRoom() throws {
        let targets = try targets()
        let hidden = targets.filter { ["structures", "store", "orders"].contains($0.layer) }.map { $0.names[0] }
        let seen: Set = ["FetchIndexValues", "FetchIndexModels", "FetchIndexPredicates"]
        let upper = targets.filter { ["satellites", "tools"].contains($0.layer) }
        for target in upper {
            let below = target.names.dropFirst().filter { hidden.contains($0) && !seen.contains($0) }
            #expect(below.isEmpty, "\(target.names[0]) uses \(below)")
        }
        #expect(upper.count > 6 && hidden.count > 6)
    }

    @Test func theTableSaysWhichRoomsEachRoomUses() throws {
        func room(_ target: Target) -> String {
            if target.names[0] == "FetchIndex" { return "FetchIndex" }
            if target.names[0].hasPrefix("CFetchIndex") { return "CLibraries" }
            return String(target.folder.prefix { $0 != "/" })
        }
        let targets = try targets().filter {
            !["tests", ""].contains($0.layer) && !$0.names.contains("Benchmarks/Page")
        }
        let rooms = Dictionary(uniqueKeysWithValues: targets.map { ($0.names[0], room($0)) })
        var declared: [String: Set<String>] = [:]
        for target in targets {
            let used = target.names.dropFirst().compactMap { rooms[$0] }.filter { $0 != room(target) }
            declared[room(target), default: []].formUnion(used)
        }
        var written: [String: Set<String>] = [:]
        for line in try lines("Sources/FetchIndex/FetchIndex.docc/Inside/ReadingTheSource.md") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| `"), let name = cells.first?.filter({ $0 != "`" }), declared[name] != nil,
                written[name] == nil
            else { continue }
            written[name] = Set(cells[2].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        }
        #expect(written == declared)
    }

    /// Sources has at most sixteen folders, and each has a row in the table of rooms.
    @Test func theTableOfRoomsListsEachSourceFolder() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folders = try FileManager.default.contentsOfDirectory(atPath: root.path + "/Sources")
            .filter { !$0.hasPrefix(".") }
        let text = try lines("Sources/FetchIndex/FetchIndex.docc/Inside/ReadingTheSource.md")
        let rooms = text.filter { $0.hasPrefix("| `") && $0.contains("` | ") && !$0.contains("swift") }
            .map { String($0.dropFirst(3).prefix { $0 != "`" }) }.prefix(folders.count)
        #expect(Set(rooms) == Set(folders))
        #expect(folders.count <= 16)
    }
}
