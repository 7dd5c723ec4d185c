import FetchIndexTestSupport
import Foundation
import Testing

/// The drawing and the table of rooms in ReadingTheSource.md agree with the targets of Package.swift.
@Suite struct DrawingTests {
    private static let page = "Sources/FetchIndex/FetchIndex.docc/Inside/ReadingTheSource.md"

    @Test func theDrawingShowsEachTargetInItsLayer() throws {
        var drawn: [String: Set<String>] = [:]
        let text = try Repository.lines(Self.page)
        let drawing = text.drop { $0 != "```" }.dropFirst().prefix { $0 != "```" }
        for line in drawing {
            let layer = line.prefix { $0 != " " }
            drawn[String(layer)] = Set(
                line.dropFirst(layer.count).split(separator: "·").map { $0.trimmingCharacters(in: .whitespaces) })
        }
        var declared: [String: Set<String>] = [:]
        for target in try DeclaredTarget.all() where !["tests", ""].contains(target.layer) {
            if target.path == "Benchmarks/Page" { continue }
            let folder =
                target.name == "FetchIndex"
                ? "FetchIndex"
                : target.name.hasPrefix("CFetchIndex")
                    ? "CLibraries" : target.folder.replacingOccurrences(of: "Tools/", with: "")
            declared[target.layer, default: []].insert(folder)
        }
        #expect(declared == drawn)
        #expect(declared.count == 7)
    }

    @Test func eachTargetDependsOnlyOnTargetsBeforeIt() throws {
        var known: Set<String> = []
        let targets = try DeclaredTarget.all()
        let own = Set(targets.map { $0.name })
        for target in targets {
            for name in target.names.dropFirst() where own.contains(name) && name != "fetchindex" {
                #expect(known.contains(name), "\(target.name) uses \(name)")
            }
            known.insert(target.name)
        }
        #expect(known.count > 30)
    }

    /// Satellites and tools may depend on FetchIndex, on the vocabularies that it re-exports, on the ground layer and
    /// on satellites. `Scripts/check` checks their imports.
    @Test func satellitesAndToolsDependOnNoInternalRoom() throws {
        let targets = try DeclaredTarget.all()
        let hidden = targets.filter { ["structures", "store", "orders"].contains($0.layer) }.map { $0.name }
        let seen: Set = ["FetchIndexValues", "FetchIndexModels", "FetchIndexPredicates"]
        let upper = targets.filter { ["satellites", "tools"].contains($0.layer) }
        for target in upper {
            let below = target.names.dropFirst().filter { hidden.contains($0) && !seen.contains($0) }
            #expect(below.isEmpty, "\(target.name) uses \(below)")
        }
        #expect(upper.count > 6 && hidden.count > 6)
    }

    @Test func theTableSaysWhichRoomsEachRoomUses() throws {
        func room(_ target: DeclaredTarget) -> String {
            if target.name == "FetchIndex" { return "FetchIndex" }
            if target.name.hasPrefix("CFetchIndex") { return "CLibraries" }
            return String(target.folder.prefix { $0 != "/" })
        }
        let targets = try DeclaredTarget.all().filter {
            !["tests", ""].contains($0.layer) && $0.path != "Benchmarks/Page"
        }
        let rooms = Dictionary(uniqueKeysWithValues: targets.map { ($0.name, room($0)) })
        var declared: [String: Set<String>] = [:]
        for target in targets {
            let used = target.names.dropFirst().compactMap { rooms[$0] }.filter { $0 != room(target) }
            declared[room(target), default: []].formUnion(used)
        }
        var written: [String: Set<String>] = [:]
        for line in try Repository.lines(Self.page) {
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
        let folders = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path + "/Sources")
            .filter { !$0.hasPrefix(".") }
        let text = try Repository.lines(Self.page)
        let rooms = text.filter { $0.hasPrefix("| `") && $0.contains("` | ") && !$0.contains("swift") }
            .map { String($0.dropFirst(3).prefix { $0 != "`" }) }.prefix(folders.count)
        #expect(Set(rooms) == Set(folders))
        #expect(folders.count <= 16)
    }
}
