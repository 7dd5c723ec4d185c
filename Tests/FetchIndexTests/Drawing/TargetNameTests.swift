import FetchIndexTestSupport
import Foundation
import Testing

/// Without module aliases, SwiftPM requires that the targets of all packages in a build have different names. So this
/// package's targets have names that dependent packages hardly use: `FetchIndexRecords` instead of `Records`.
@Suite(.disabled(if: isUnderSanitizer)) struct TargetNameTests {
    @Test func aDependentPackageMayHaveTargetsNamedLikeOurFolders() throws {
        let root = Repository.root
        let files = FileManager.default
        let names = try Set(
            ["Sources", "Sources/CLibraries", "Sources/Inspection", "Sources/Platform", "Sources/Tools", "Tests"]
                .flatMap { try files.contentsOfDirectory(atPath: root.path + "/" + $0) }
                .filter { !$0.contains(".") && $0 != "FetchIndex" })
        #expect(names.count > 40)
        let folder = TemporaryFolder()
        for name in names {
            let path = folder.path + "/Sources/" + name
            try files.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Data().write(to: URL(fileURLWithPath: path + "/empty.swift"))
        }
        let targets = names.sorted().map { ".target(name: \"\($0)\")," }.joined(separator: "\n        ")
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "Neighbour", platforms: [.macOS(.v15)],
                dependencies: [.package(name: "FetchIndex", path: "\(root.path)", traits: [])],
                targets: [
                    \(targets)
                    .target(name: "App", dependencies: [.product(name: "FetchIndex", package: "FetchIndex")]),
                ])
            """
        try files.createDirectory(atPath: folder.path + "/Sources/App", withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: folder.path + "/Sources/App/empty.swift"))
        try manifest.write(toFile: folder.path + "/Package.swift", atomically: true, encoding: .utf8)
        let shell = "swift package --package-path \"$1\" show-dependencies 2>&1"
        let result = try TemporaryFolder.run("sh", ["-c", shell, "sh", folder.path])
        #expect(result.status == 0, "\(result.output.suffix(2000))")
        // A package that uses only the library doesn't download the dependencies of the tools.
        let fetched = try? files.contentsOfDirectory(atPath: folder.path + "/.build/checkouts")
        #expect((fetched ?? []) == [])
    }
}
