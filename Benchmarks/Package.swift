// swift-tools-version: 6.1
import PackageDescription

// The benchmark harness, a package of its own so that users of FetchIndex do not fetch its dependencies.

let package = Package(
    name: "FetchIndexBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "FetchIndex", path: ".."),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // a seeded catalogue, the same for everyone
        .target(name: "Catalogue"),
        // the stores and databases that the benchmarks read: ours and the peer's, of the same rows
        .target(
            name: "Stores",
            dependencies: [
                "Catalogue", .product(name: "FetchIndex", package: "FetchIndex"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        // writes a catalogue as TSV
        .executableTarget(name: "generate-catalogue", dependencies: ["Catalogue"]),
        // makes the stores and databases
        .executableTarget(name: "prepare", dependencies: ["Catalogue", "Stores"]),
        // measures what the harness cannot: memory, size, and ratios of whole processes
        .executableTarget(
            name: "figures",
            dependencies: [
                "Stores", .product(name: "fetchindex", package: "FetchIndex"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        // measures readers beside a writer, for a minute
        .executableTarget(name: "load", dependencies: ["Catalogue", "Stores"]),
        // turns the harness's results into a table and JSON
        .executableTarget(name: "report", dependencies: [.product(name: "benchmark-page", package: "FetchIndex")]),
        .executableTarget(
            name: "FetchBenchmarks",
            dependencies: ["Stores", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/FetchBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ],
    swiftLanguageModes: [.v6]
)
