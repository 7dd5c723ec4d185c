import FetchIndexTestSupport
import Foundation
import Testing

/// Package.swift lists exactly the modules that each target's files import. SwiftPM itself accepts an import of a module
/// that another dependency depends on.
@Suite struct ImportTests {
    /// The paths of all Swift files in some folders of the repository, by the target that they belong to: the target
    /// with the innermost folder.
    private func files(of targets: [DeclaredTarget]) throws -> [String: [String]] {
        var files: [String: [String]] = [:]
        for folder in ["Sources", "Tests", "Benchmarks/Page"] {
            let path = Repository.root.appendingPathComponent(folder).path
            for name in try FileManager.default.subpathsOfDirectory(atPath: path) where name.hasSuffix(".swift") {
                let file = folder + "/" + name
                let owner = targets.filter { file.hasPrefix($0.path + "/") }.max { $0.path.count < $1.path.count }
                if let owner { files[owner.name, default: []].append(file) }
            }
        }
        return files
    }

    /// The names of the modules that a file imports.
    private func imports(_ file: String) throws -> [String] {
        let line = #/ *(?:@\w+ +)*(?:[a-z]+ +)?import +(?:[a-z]+ +)?(\w+).*/#
        return try Repository.lines(file).compactMap { try line.wholeMatch(in: $0).map { String($0.1) } }
    }

    @Test func eachTargetDeclaresTheModulesThatItsFilesImport() throws {
        let targets = try DeclaredTarget.all()
        let known = Set(targets.map(\.name)).union(["ArgumentParser", "FlyingSocks", "Mustache"])
        let files = try files(of: targets)
        for target in targets {
            guard let own = files[target.name] else { continue }
            let imported = Set(try own.flatMap(imports)).intersection(known)
            let declared = Set(target.names.dropFirst()).intersection(known)
            #expect(imported.isSubset(of: declared), "\(target.name) imports \(imported.subtracting(declared))")
            // Tests depend on programs that they run.
            if target.layer == "tests" { continue }
            #expect(declared.isSubset(of: imported), "\(target.name) lists \(declared.subtracting(imported))")
        }
        #expect(files.count > 40 && files.values.map(\.count).reduce(0, +) > 1000)
    }
}
