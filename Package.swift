// swift-tools-version: 6.2
import PackageDescription

// The drawing of the house: targets stand bottom to top, and every arrow points down.

var strict: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableExperimentalFeature("Lifetimes"),
]
// Scripts/check sets it.
if Context.environment["FETCHINDEX_WARNINGS_AS_ERRORS"] != nil { strict.append(.treatAllWarnings(as: .error)) }

// Scripts/fuzz sets it: then all code tells libFuzzer what it covers and AddressSanitizer what it touches, and keeps its
// assertions in release builds.
let isFuzzing = Context.environment["FETCHINDEX_FUZZ"] != nil
var strictC: [CSetting] = []
var strictCXX: [CXXSetting] = []
if isFuzzing {
    strict.append(.unsafeFlags(["-sanitize=fuzzer,address", "-assert-config", "Debug"]))
    strictC.append(.unsafeFlags(["-fsanitize=fuzzer-no-link,address"]))
    strictCXX.append(.unsafeFlags(["-fsanitize=fuzzer-no-link,address"]))
}

let package = Package(
    name: "FetchIndex",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "FetchIndex", targets: ["FetchIndex"]),
        .executable(name: "fetchindex", targets: ["FetchIndexTool"]),
        .executable(name: "fetchindex-browse", targets: ["BrowseTool"]),
        .executable(name: "fetchindex-follow", targets: ["FollowTool"]),
        // Scripts/benchmark runs it.
        .executable(name: "benchmark-page", targets: ["BenchmarkPage"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        // liblmdb's header
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        // where ICU is; no header
        .systemLibrary(name: "ICU", pkgConfig: "icu-i18n", providers: [.apt(["libicu-dev"]), .brew(["icu4c"])]),
        // a few C shims over ICU: collation, case folding, index buckets, calendars, time zone offsets
        .target(name: "CICU", dependencies: ["ICU"], cSettings: strictC, cxxSettings: strictCXX),
        // xxHash's header: checksums of stored bytes
        .systemLibrary(
            name: "CXXHash", pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
        // libcsv's header: a streaming CSV parser
        .systemLibrary(name: "CCSV", providers: [.apt(["libcsv-dev"]), .brew(["libcsv"])]),
        // the headers of zlib and zstd: compressed catalogues
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),

        // libpq's header: the protocol of PostgreSQL
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),

        // malloc_trim, where there is glibc
        .systemLibrary(name: "CMalloc"),

        // the system's C library and Foundation's essentials, under one name; work on several threads
        .target(name: "SystemBasics", dependencies: ["CMalloc"], swiftSettings: strict),
        // spans of bytes: compare, append, numbers and varints, checksums
        .target(name: "Bytes", dependencies: ["CXXHash", "SystemBasics"], swiftSettings: strict),
        // private files, locks, identity, atomic replacement
        .target(name: "Files", dependencies: ["SystemBasics"], swiftSettings: strict),
        // a walk over LMDB's page format, read-only, that trusts nothing
        .target(name: "LMDBCheck", dependencies: ["Bytes", "Files", "SystemBasics"], swiftSettings: strict),
        // environment, transactions, tables, cursors
        .target(
            name: "LMDB", dependencies: ["Bytes", "CLMDB", "Files", "LMDBCheck", "SystemBasics"], swiftSettings: strict),
        // value types, their order, order-preserving key bytes, text order, calendars and time zones (public)
        .target(name: "Values", dependencies: ["Bytes", "CICU", "Files", "SystemBasics"], swiftSettings: strict),
        // entities, attributes, object ids, errors of a store (public)
        .target(name: "Models", dependencies: ["Bytes", "Values"], swiftSettings: strict),
        // a B+tree with counts over a node store
        .target(name: "CountedTree", dependencies: ["Bytes", "SystemBasics"], swiftSettings: strict),
        // byte keys in order, in bounded memory, on several threads
        .target(
            name: "Sorting", dependencies: ["Bytes", "Files", "Models", "SystemBasics"], swiftSettings: strict),
        // records, change log, unique keys, store
        .target(
            name: "Records",
            dependencies: ["Bytes", "Files", "LMDB", "LMDBCheck", "Models", "Sorting", "SystemBasics", "Values"],
            swiftSettings: strict),
        // the format language: parse, print, evaluate (public)
        .target(name: "Predicates", dependencies: ["Bytes", "SystemBasics", "Values"], swiftSettings: strict),
        // sectioned order = rows tree + sections tree; the cache engine; diff
        .target(
            name: "OrderCaches",
            dependencies: [
                "Bytes", "CountedTree", "Files", "LMDB", "LMDBCheck", "Models", "Records", "Sorting", "SystemBasics",
                "Values",
            ], swiftSettings: strict),
        // requests, planner, context, managed objects, results controller (public)
        .target(
            name: "FetchIndex",
            dependencies: [
                "Bytes", "LMDB", "Models", "OrderCaches", "Predicates", "Records", "SystemBasics", "Values",
            ], swiftSettings: strict),
        // information, check, repair, export
        .target(
            name: "Administration",
            dependencies: ["FetchIndex", "Files", "Models", "OrderCaches", "Records", "SystemBasics"],
            swiftSettings: strict),
        // numbers, sizes, times and errors as people read them
        .target(name: "Wording", dependencies: ["Predicates", "SystemBasics", "Values"], swiftSettings: strict),
        // charts as SVG
        .target(name: "Charts", dependencies: ["SystemBasics"], swiftSettings: strict),
        // the inspection report: a page of HTML
        .target(
            name: "Report",
            dependencies: [
                "Administration", "Charts", "CountedTree", "FetchIndex", "Models", "OrderCaches", "Records",
                "SystemBasics",
                "Wording", .product(name: "Mustache", package: "swift-mustache"),
            ],
            resources: [
                "report.mustache", "live.mustache", "store.mustache", "card.mustache", "benchmark.mustache",
                "report.css",
            ].map { .embedInCode("Templates/\($0)") },
            swiftSettings: strict),
        // writes the page of a run of the benchmarks
        .executableTarget(name: "BenchmarkPage", dependencies: ["Report", "SystemBasics"], swiftSettings: strict),
        // the server of the live page
        .target(
            name: "InspectionPage",
            dependencies: [
                "FetchIndex", "Files", "Models", "OrderCaches", "Predicates", "Records", "Report", "SystemBasics",
                "Wording",
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            resources: ["basics.js", "list.js", "overview.js", "rows.js", "search.js", "page.js", "page.css"].map {
                .embedInCode("Page/\($0)")
            },
            swiftSettings: strict),
        // `fetchindex browse` runs it: the tool for jobs links no server
        .executableTarget(
            name: "BrowseTool",
            dependencies: [
                "FetchIndex", "Files", "InspectionPage", "SystemBasics", "Wording",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),
        // follows tables of a PostgreSQL source
        .target(
            name: "PostgresSource",
            dependencies: [
                "Bytes", "CPostgres", "FetchIndex", "Files", "Models", "OrderCaches", "Records", "SystemBasics",
                "Values",
            ], swiftSettings: strict),
        // `fetchindex follow` runs it: the tool for jobs does not link libpq
        .executableTarget(
            name: "FollowTool",
            dependencies: [
                "FetchIndex", "Files", "PostgresSource", "SystemBasics", "Wording",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),
        // rows of CSV, TSV and JSON lines files
        .target(
            name: "Catalogues", dependencies: ["Bytes", "CCSV", "CZlib", "CZstd", "Files", "SystemBasics", "Values"],
            swiftSettings: strict),
        // the command-line tool, built as `fetchindex` (a file system may not tell that name from FetchIndex)
        .executableTarget(
            name: "FetchIndexTool",
            dependencies: [
                "Administration", "Bytes", "Catalogues", "FetchIndex", "Files", "Models", "OrderCaches",
                "Records", "Report", "SystemBasics", "Wording",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),

        // seeds, folders and stores that tests share
        .target(
            name: "TestSupport", dependencies: ["Bytes", "LMDB", "Models", "Records", "SystemBasics"],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "LMDBTests", dependencies: ["Files", "LMDB", "LMDBCheck", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ReportTests", dependencies: ["Charts", "FetchIndex", "Report", "TestSupport"],
            resources: [.copy("Golden")], swiftSettings: strict),
        .testTarget(name: "BytesTests", dependencies: ["Bytes"], swiftSettings: strict),
        .testTarget(name: "ValuesTests", dependencies: ["TestSupport", "Values"], swiftSettings: strict),
        .testTarget(
            name: "CountedTreeTests", dependencies: ["Bytes", "CountedTree", "SystemBasics", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "SortingTests", dependencies: ["Bytes", "Models", "Sorting", "SystemBasics", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "RecordsTests",
            dependencies: ["Bytes", "LMDB", "LMDBCheck", "Models", "Records", "TestSupport", "Values"],
            swiftSettings: strict),
        .testTarget(
            name: "PredicatesTests", dependencies: ["Predicates", "TestSupport", "Values"], exclude: ["PredicateCases"],
            swiftSettings: strict),
        .testTarget(
            name: "OrderCachesTests",
            dependencies: [
                "Bytes", "CountedTree", "LMDB", "LMDBCheck", "Models", "OrderCaches", "Records", "Sorting",
                "SystemBasics", "TestSupport", "Values",
            ], swiftSettings: strict),
        .testTarget(
            name: "FetchIndexTests",
            dependencies: [
                "Administration", "Bytes", "FetchIndex", "LMDB", "LMDBCheck", "Models", "OrderCaches", "Predicates",
                "Records", "TestSupport", "Values",
            ], resources: [.copy("Catalogues"), .copy("Stores")], swiftSettings: strict),
        // what a user's program sees, with nothing imported but FetchIndex and Foundation
        .testTarget(name: "FaceTests", dependencies: ["FetchIndex"], swiftSettings: strict),
        // pages that are cut off, overwritten or made up; full maps
        .testTarget(
            name: "PageTests",
            dependencies: [
                "Administration", "Bytes", "FetchIndex", "LMDB", "LMDBCheck", "Models", "OrderCaches", "Records",
                "TestSupport", "Values",
            ], swiftSettings: strict),
        .testTarget(
            name: "CataloguesTests", dependencies: ["CZlib", "CZstd", "Catalogues", "TestSupport", "Values"],
            swiftSettings: strict),
        .testTarget(
            name: "ToolTests",
            dependencies: ["FetchIndex", "FetchIndexTool", "LMDB", "LMDBCheck", "Records", "TestSupport", "Wording"],
            swiftSettings: strict),
        // the live page, asked over HTTP and in a browser
        .testTarget(
            name: "BrowseTests", dependencies: ["BrowseTool", "FetchIndex", "FetchIndexTool", "TestSupport"],
            swiftSettings: strict),
        // PostgreSQL's protocol, and a server where one is installed
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "Administration", "FetchIndex", "FetchIndexTool", "FollowTool", "Models", "PostgresSource", "Records",
                "SystemBasics", "TestSupport", "Values",
            ], swiftSettings: strict),
        // what victims do to a store, step by step, and what must be in it then
        .target(
            name: "FaultScript", dependencies: ["FetchIndex", "OrderCaches", "Records", "TestSupport"],
            path: "Tests/FaultScript",
            swiftSettings: strict),
        // counts, traces and fails the system calls that write files (Linux)
        .target(name: "WriteRecorder", path: "Tests/WriteRecorder", cSettings: strictC),
        // a program to be killed, starved and traced; its tests run it, but are not linked with it and its recorder
        .executableTarget(
            name: "Victim",
            dependencies: ["Administration", "FaultScript", "FetchIndex", "Records", "TestSupport", "WriteRecorder"],
            path: "Tests/Victim",
            swiftSettings: strict),
        .testTarget(
            name: "FaultTests",
            dependencies: ["Administration", "FaultScript", "FetchIndex", "Records", "TestSupport"],
            swiftSettings: strict),
        // what is done with an input of a fuzz target, and its test on the kept inputs
        .target(
            name: "FuzzBodies",
            dependencies: [
                "Bytes", "Catalogues", "CountedTree", "FetchIndex", "Models", "OrderCaches", "PostgresSource",
                "Predicates",
                "Records", "SystemBasics", "Values",
            ], path: "Tests/Fuzz/FuzzBodies", swiftSettings: strict),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzBodies"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

if isFuzzing {
    package.targets += [.systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer")]
    package.targets += ["FuzzPredicate", "FuzzRecord", "FuzzNode", "FuzzImport", "FuzzStream"].map { name in
        .executableTarget(
            name: name, dependencies: ["CLibFuzzer", "FuzzBodies"], path: "Tests/Fuzz/\(name)", swiftSettings: strict,
            // LLD comes with Swift; gold warns of hundreds of AddressSanitizer's symbols.
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])])
    }
}
