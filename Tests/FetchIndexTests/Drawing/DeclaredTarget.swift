import FetchIndexTestSupport
import Foundation

/// A target of Package.swift, read from its text.
struct DeclaredTarget {
    /// The layer: the lower-cased name in the last line like "// MARK: Ground" before the declaration.
    let layer: String
    /// The quoted names in the declaration. The first name is the target's own.
    private(set) var names: [String]

    var name: String { names[0] }

    /// The path of the target's folder in the repository.
    var path: String {
        let roots = ["Sources/", "Tests/", "Benchmarks/"]
        if let path = names.first(where: { name in roots.contains { name.hasPrefix($0) } }) { return path }
        if layer == "tests" { return "Tests/" + name }
        if name.hasPrefix("CFetchIndex") { return "Sources/CLibraries/" + name.dropFirst("CFetchIndex".count) }
        return "Sources/" + (name == "FetchIndex" ? name : String(name.dropFirst("FetchIndex".count)))
    }

    /// The path of the target's folder in Sources.
    var folder: String { path.hasPrefix("Sources/") ? String(path.dropFirst("Sources/".count)) : path }

    /// All targets but those for fuzzing, which Package.swift makes in a loop.
    static func all() throws -> [DeclaredTarget] {
        var targets: [DeclaredTarget] = []
        var (layer, prefix) = ("", "")
        for line in try Repository.lines("Package.swift") {
            if let mark = line.range(of: "// MARK: ") { layer = line[mark.upperBound...].lowercased() }
            if line.hasPrefix("if isFuzzing {") { break }
            if layer.isEmpty || line.contains("//") { continue }
            if let kind = [".room(", ".cLibrary(", "arget(", ".systemLibrary("].first(where: { line.contains($0) }) {
                prefix = [".room(": "FetchIndex", ".cLibrary(": "CFetchIndex"][kind] ?? ""
                targets.append(DeclaredTarget(layer: layer, names: []))
            }
            if targets.isEmpty { continue }
            for (index, text) in line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            where index % 2 == 1 {
                targets[targets.count - 1].names.append(prefix + text)
                prefix = ""
            }
        }
        return targets
    }
}
