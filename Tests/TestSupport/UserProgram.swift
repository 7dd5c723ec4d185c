internal import Foundation

/// A user's program in one file, which is type-checked against the built modules.
package struct UserProgram {
    private let source: String

    package init(_ source: String) { self.source = source }

    /// The folder of the package manager's products.
    private static var products: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        return bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
    }

    private static var modules: String { products.appendingPathComponent("Modules").path }

    /// Whether the built modules and a compiler are found.
    package static var canBeCompiled: Bool {
        let isBuilt = FileManager.default.fileExists(atPath: modules + "/FetchIndex.swiftmodule")
        return isBuilt && (try? TemporaryFolder.run("swiftc", ["--version"]).status) == 0
    }

    /// The compiler's errors and warnings; empty if the program compiles without warnings.
    package func complaints() throws -> String {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = folder.path + "/main.swift"
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        var arguments = ["-typecheck", "-swift-version", "6", "-I", Self.modules]
        for map in try Self.moduleMaps() { arguments += ["-Xcc", "-fmodule-map-file=" + map] }
        let shell = ["-c", "swiftc \"$@\" 2>&1", "swiftc"]
        let found = try TemporaryFolder.run("sh", shell + arguments + [file])
        return found.status == 0 && !found.output.contains("warning:") ? "" : found.output + "status \(found.status)"
    }

    /// The module maps of the C libraries, which the package manager passes to the compiler, too.
    private static func moduleMaps() throws -> [String] {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources").path
        let maps = try FileManager.default.subpathsOfDirectory(atPath: sources)
            .filter { $0.hasSuffix("/module.modulemap") }.map { sources + "/" + $0 }
        let made = products.appendingPathComponent("CFetchIndexICU.build/module.modulemap").path
        return FileManager.default.fileExists(atPath: made) ? maps + [made] : maps
    }
}
