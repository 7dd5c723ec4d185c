// swift-tools-version: 6.1
import PackageDescription

// The benchmarks. They are a package of their own so that users of FetchIndex don't fetch the dependencies.

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
        // the stores of FetchIndex and databases of the peer, with the same rows, that the benchmarks read
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
        // measures what the harness doesn't: memory, sizes, whole processes, and alternatives in turn
        .executableTarget(
            name: "figures",
            dependencies: [
                "Stores", .product(name: "fetchindex", package: "FetchIndex"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        // answers the questions of Peers/duckdb-scans
        .executableTarget(name: "scans", dependencies: [.product(name: "FetchIndex", package: "FetchIndex")]),
        // measures readers while a writer runs
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
