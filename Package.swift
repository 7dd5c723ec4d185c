// swift-tools-version: 6.2
import PackageDescription

// The drawing of the house: targets stand bottom to top, and every arrow points down. It has more than 300 lines, because
// SwiftPM reads all targets from one file.

// Scripts/fuzz sets it: then all code tells libFuzzer what it covers and AddressSanitizer what it touches, and keeps its
// assertions in release builds.
let isFuzzing = Context.environment["FETCHINDEX_FUZZ"] != nil
let unoptimized: [SwiftSetting] =
    [
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableExperimentalFeature("Lifetimes"),
    ]
    // Scripts/check sets it.
    + (Context.environment["FETCHINDEX_WARNINGS_AS_ERRORS"] != nil ? [.treatAllWarnings(as: .error)] : [])
    + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer,address", "-assert-config", "Debug"])] : [])
// Scripts/test sets it: then the library and the reading of catalogues, in whose loops tests spend their time, are optimized,
// and keep their assertions. For the other satellites, the tools and most tests, the optimizer needs more time than they gain
// from it: it takes three quarters of a module's compilation. FaceTests stands for a user's optimized program.
// Modules are compiled as a whole, which takes a third less processor time than file by file (FetchIndexRecords: 65 s, not 97).
let isOptimizing = Context.environment["FETCHINDEX_OPTIMIZE"] != nil
let optimized = ["-O", "-wmo", "-num-threads", "2", "-disable-batch-mode", "-assert-config", "Debug"]
let strict = unoptimized + (isOptimizing ? [.unsafeFlags(optimized)] : [])
let strictC: [CSetting] = isFuzzing ? [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])] : []
let strictCXX: [CXXSetting] = isFuzzing ? [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])] : []

extension Target {
    /// A folder of Sources, whose target has a name that no other package's target has.
    static func room(
        _ folder: String, _ dependencies: [Dependency], _ settings: [SwiftSetting] = strict
    ) -> Target {
        .target(
            name: "FetchIndex\(folder)", dependencies: dependencies, path: "Sources/\(folder)", swiftSettings: settings)
    }

    /// The header of a C library of the system.
    static func cLibrary(_ folder: String, pkgConfig: String? = nil, apt: String, brew: String) -> Target {
        .systemLibrary(
            name: "CFetchIndex\(folder)", path: "Sources/CLibraries/\(folder)", pkgConfig: pkgConfig,
            providers: [.apt([apt]), .brew([brew])])
    }
}

extension Target.Dependency {
    /// A product of another package that only tools need.
    static func ofTools(_ name: String, package: String) -> Target.Dependency {
        .product(name: name, package: package, condition: .when(traits: ["Tools"]))
    }
}

let package = Package(
    name: "FetchIndex",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "FetchIndex", targets: ["FetchIndex"]),
        .library(name: "FetchIndexCoreData", targets: ["FetchIndexCoreDataFiles"]),
        .executable(name: "fetchindex", targets: ["FetchIndexTool"]),
        .executable(name: "fetchindex-coredata", targets: ["FetchIndexCoreDataTool"]),
        .executable(name: "fetchindex-browse", targets: ["FetchIndexBrowseTool"]),
        .executable(name: "fetchindex-follow", targets: ["FetchIndexFollowTool"]),
        // A product, because the package in Benchmarks builds it: Scripts/benchmark writes its page with it.
        .executable(name: "benchmark-page", targets: ["FetchIndexBenchmarkPage"]),
    ],
    // Without it, as `traits: []` of a package that uses the library alone says, none of the packages below is fetched.
    traits: [
        .trait(name: "Tools", description: "The command-line tools, the report and the server of the live page"),
        .default(enabledTraits: ["Tools"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        // MARK: Ground

        // liblmdb's header
        .cLibrary("LMDB", pkgConfig: "lmdb", apt: "liblmdb-dev", brew: "lmdb"),
        // where the system has ICU, whose headers the shims include
        .cLibrary("SystemICU", pkgConfig: "icu-i18n", apt: "libicu-dev", brew: "icu4c"),
        // a few C shims over ICU: collation, case folding, index buckets, calendars, time zone offsets
        .target(
            name: "CFetchIndexICU", dependencies: ["CFetchIndexSystemICU"], path: "Sources/CLibraries/ICU",
            cSettings: strictC, cxxSettings: strictCXX),
        // xxHash's header: checksums of stored bytes
        .cLibrary("XXHash", pkgConfig: "libxxhash", apt: "libxxhash-dev", brew: "xxhash"),
        // libmd's header: SHA-256, which Apple's systems have in CommonCrypto
        .cLibrary("Digest", pkgConfig: "libmd", apt: "libmd-dev", brew: "libmd"),
        // libcsv's header: a streaming CSV parser
        .cLibrary("CSV", apt: "libcsv-dev", brew: "libcsv"),
        // zlib's header: compressed catalogues, and archives in Core Data's models
        .cLibrary("Zlib", pkgConfig: "zlib", apt: "zlib1g-dev", brew: "zlib"),
        // zstd's header: compressed catalogues
        .cLibrary("Zstd", pkgConfig: "libzstd", apt: "libzstd-dev", brew: "zstd"),
        // SQLite, loaded at its first use: tables of databases as catalogues, and stores of Core Data
        .target(name: "CFetchIndexSQLite", path: "Sources/CLibraries/SQLite", cSettings: strictC),
        // libpq's header: the protocol of PostgreSQL
        .cLibrary("Postgres", pkgConfig: "libpq", apt: "libpq-dev", brew: "libpq"),
        // expat's header: the XML of Core Data's models
        .cLibrary("Expat", pkgConfig: "expat", apt: "libexpat1-dev", brew: "expat"),
        // malloc_trim, if the C library is glibc
        .systemLibrary(name: "CFetchIndexMalloc", path: "Sources/CLibraries/Malloc"),
        // the system's C library: Glibc or Darwin
        .target(name: "FetchIndexCLibrary", path: "Sources/Platform/CLibrary", swiftSettings: strict),
        // dates, decimals, UUIDs, URLs: FoundationEssentials, or Apple's Foundation
        .target(name: "FetchIndexEssentials", path: "Sources/Platform/Essentials", swiftSettings: strict),
        // bytes (spans, numbers, checksums, fingerprints), files (private files, locks, replacement), threads
        .target(
            name: "FetchIndexPlatform",
            dependencies: [
                "CFetchIndexDigest", "CFetchIndexMalloc", "CFetchIndexXXHash", "FetchIndexCLibrary",
                "FetchIndexEssentials",
            ],
            path: "Sources/Platform", exclude: ["CLibrary", "Essentials"], swiftSettings: strict),

        // MARK: Structures

        // environment, transactions, tables, cursors; the page format, and a walk over it that trusts nothing
        .room("LMDB", ["CFetchIndexLMDB", "FetchIndexCLibrary", "FetchIndexPlatform"]),
        // value types, their order, order-preserving key bytes, text order, calendars and time zones (public)
        .room("Values", ["CFetchIndexICU", "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexPlatform"]),
        // the format language: parse, print, evaluate (public)
        .room("Predicates", ["FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexPlatform", "FetchIndexValues"]),
        // entities, attributes, relationships, object ids (public); a model as bytes, the difference of two models
        .room("Models", ["FetchIndexEssentials", "FetchIndexPlatform", "FetchIndexPredicates", "FetchIndexValues"]),
        // sorts byte keys in bounded memory, on several threads
        .room("Sorting", ["FetchIndexCLibrary", "FetchIndexPlatform"]),

        // MARK: Store

        // a B+tree with counts over a node store
        .room("CountedTree", ["FetchIndexPlatform"]),
        // a store and its snapshots: records, unique keys, links, the change log, scans
        .room(
            "Records",
            [
                "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexLMDB", "FetchIndexModels",
                "FetchIndexPlatform", "FetchIndexPredicates", "FetchIndexSorting", "FetchIndexValues",
            ]),

        // MARK: Orders

        // sectioned order = rows tree + sections tree; the cache engine; diff
        .room(
            "OrderCaches",
            [
                "FetchIndexCLibrary", "FetchIndexCountedTree", "FetchIndexEssentials", "FetchIndexLMDB",
                "FetchIndexModels", "FetchIndexPlatform", "FetchIndexRecords", "FetchIndexSorting", "FetchIndexValues",
            ]),

        // MARK: Library

        // requests, planner, contexts, objects, controllers, batches, administration (public)
        .target(
            name: "FetchIndex",
            dependencies: [
                "FetchIndexCLibrary", "FetchIndexCountedTree", "FetchIndexEssentials", "FetchIndexModels",
                "FetchIndexOrderCaches", "FetchIndexPlatform", "FetchIndexPredicates", "FetchIndexRecords",
                "FetchIndexValues",
            ], swiftSettings: strict),

        // MARK: Satellites

        // files of CSV, TSV and JSON, and SQLite's tables: their rows become objects, and objects their rows
        .room(
            "Catalogues",
            [
                "CFetchIndexCSV", "CFetchIndexSQLite", "CFetchIndexZlib", "CFetchIndexZstd", "FetchIndex",
                "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexModels", "FetchIndexPlatform",
                "FetchIndexValues",
            ]),
        // numbers, sizes, times and errors as people read them; charts as SVG
        .target(
            name: "FetchIndexInspection",
            dependencies: [
                "FetchIndex", "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexModels", "FetchIndexPlatform",
                "FetchIndexPredicates", "FetchIndexValues",
            ],
            path: "Sources/Inspection", exclude: ["Report", "Server"], swiftSettings: unoptimized),
        // the inspection report, a page of HTML, and parts of the live page: the tool for jobs links no templates
        .target(
            name: "FetchIndexInspectionReport",
            dependencies: [
                "FetchIndex", "FetchIndexEssentials", "FetchIndexInspection", "FetchIndexModels",
                .ofTools("Mustache", package: "swift-mustache"),
            ],
            path: "Sources/Inspection/Report",
            resources: [
                "report.mustache", "live.mustache", "store.mustache", "card.mustache", "changes.mustache",
                "markdown.mustache", "report.css",
            ].map {
                .embedInCode("Templates/\($0)")
            },
            swiftSettings: unoptimized),
        // the server of the live page: the tool for jobs links no server
        .target(
            name: "FetchIndexInspectionServer",
            dependencies: [
                "FetchIndex", "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexInspection",
                "FetchIndexInspectionReport", "FetchIndexModels", "FetchIndexPlatform", "FetchIndexPredicates",
                .ofTools("FlyingSocks", package: "FlyingFox"),
            ],
            path: "Sources/Inspection/Server",
            resources: ["basics.js", "list.js", "overview.js", "rows.js", "search.js", "page.js", "page.css"].map {
                .embedInCode("Page/\($0)")
            },
            swiftSettings: unoptimized),
        // follows tables of a PostgreSQL source
        .room(
            "PostgresSource",
            [
                "CFetchIndexPostgres", "FetchIndex", "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexModels",
                "FetchIndexPlatform", "FetchIndexValues",
            ], unoptimized),
        // Core Data's files: models and stores
        .room(
            "CoreDataFiles",
            [
                "CFetchIndexExpat", "CFetchIndexSQLite", "CFetchIndexZlib", "FetchIndex", "FetchIndexCLibrary",
                "FetchIndexEssentials", "FetchIndexModels", "FetchIndexPlatform", "FetchIndexValues",
            ], unoptimized),

        // MARK: Tools

        // what tools print on standard output and standard error, and their exit codes
        .target(
            name: "FetchIndexTerminal",
            dependencies: [
                "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexInspection", "FetchIndexPlatform",
                .ofTools("ArgumentParser", package: "swift-argument-parser"),
            ], path: "Sources/Tools/Terminal", swiftSettings: unoptimized),
        // the command-line tool, built as `fetchindex` (a file system may not tell that name from FetchIndex)
        .executableTarget(
            name: "FetchIndexTool",
            dependencies: [
                "FetchIndex", "FetchIndexCLibrary", "FetchIndexCatalogues", "FetchIndexEssentials",
                "FetchIndexInspection", "FetchIndexModels", "FetchIndexPlatform", "FetchIndexTerminal",
                .ofTools("ArgumentParser", package: "swift-argument-parser"),
            ], path: "Sources/Tools/fetchindex", swiftSettings: unoptimized),
        // `fetchindex browse` and `fetchindex report` run it
        .executableTarget(
            name: "FetchIndexBrowseTool",
            dependencies: [
                "FetchIndex", "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexInspection",
                "FetchIndexInspectionReport", "FetchIndexInspectionServer", "FetchIndexPlatform", "FetchIndexTerminal",
                .ofTools("ArgumentParser", package: "swift-argument-parser"),
            ], path: "Sources/Tools/fetchindex-browse", swiftSettings: unoptimized),
        // `fetchindex follow` runs it: the tool for jobs does not link libpq
        .executableTarget(
            name: "FetchIndexFollowTool",
            dependencies: [
                "FetchIndex", "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexInspection",
                "FetchIndexPlatform", "FetchIndexPostgresSource",
                .ofTools("ArgumentParser", package: "swift-argument-parser"),
            ], path: "Sources/Tools/fetchindex-follow", swiftSettings: unoptimized),
        // the tool runs it where Core Data's files are read: it doesn't link their libraries
        .executableTarget(
            name: "FetchIndexCoreDataTool",
            dependencies: [
                "FetchIndex", "FetchIndexCLibrary", "FetchIndexCoreDataFiles", "FetchIndexEssentials",
                "FetchIndexInspection", "FetchIndexPlatform", "FetchIndexTerminal",
                .ofTools("ArgumentParser", package: "swift-argument-parser"),
            ], path: "Sources/Tools/fetchindex-coredata", swiftSettings: unoptimized),
        // writes the page of a run of the benchmarks
        .executableTarget(
            name: "FetchIndexBenchmarkPage",
            dependencies: [
                "FetchIndexCLibrary", "FetchIndexEssentials", "FetchIndexInspection", "FetchIndexInspectionReport",
            ],
            path: "Benchmarks/Page", resources: ["benchmark.mustache", "picture.mustache"].map { .embedInCode($0) },
            swiftSettings: unoptimized),

        // MARK: Tests

        // seeds, folders and stores that tests share
        .target(
            name: "FetchIndexTestSupport",
            dependencies: ["FetchIndexLMDB", "FetchIndexModels", "FetchIndexPlatform", "FetchIndexRecords"],
            path: "Tests/TestSupport", resources: [.copy("Stores")], swiftSettings: strict),
        // environments, copies, conversions and checksums of LMDB's files
        .testTarget(
            name: "LMDBTests", dependencies: ["FetchIndexLMDB", "FetchIndexPlatform", "FetchIndexTestSupport"],
            swiftSettings: unoptimized),
        // the report, its charts, and the page of the benchmarks, compared with kept files
        .testTarget(
            name: "ReportTests",
            dependencies: [
                "FetchIndex", "FetchIndexBenchmarkPage", "FetchIndexInspection", "FetchIndexInspectionReport",
                "FetchIndexTestSupport",
            ],
            resources: [.copy("Golden")], swiftSettings: unoptimized),
        // readers of bytes, and the validity of UTF-8
        .testTarget(name: "BytesTests", dependencies: ["FetchIndexPlatform"], swiftSettings: unoptimized),
        // the order and the texts of values, sums, dates and time zones
        .testTarget(
            name: "ValuesTests", dependencies: ["FetchIndexTestSupport", "FetchIndexValues"], swiftSettings: unoptimized
        ),
        // trees and nodes under random operations and damage
        .testTarget(
            name: "CountedTreeTests",
            dependencies: ["FetchIndexCountedTree", "FetchIndexPlatform", "FetchIndexTestSupport"],
            swiftSettings: strict),
        // sorting in bounded memory; threads and sparse arrays of the platform
        .testTarget(
            name: "SortingTests",
            dependencies: ["FetchIndexPlatform", "FetchIndexSorting", "FetchIndexTestSupport"],
            swiftSettings: strict),
        // records, keys, links, zones, the log and its checks, by rules and in random series
        .testTarget(
            name: "RecordsTests",
            dependencies: [
                "FetchIndexLMDB", "FetchIndexModels", "FetchIndexPlatform", "FetchIndexPredicates",
                "FetchIndexRecords", "FetchIndexTestSupport", "FetchIndexValues",
            ],
            swiftSettings: unoptimized),
        // the format language: parsing, printing and evaluation, with hostile texts
        .testTarget(
            name: "PredicatesTests",
            dependencies: ["FetchIndexPredicates", "FetchIndexTestSupport", "FetchIndexValues"],
            exclude: ["PredicateCases"],
            swiftSettings: unoptimized),
        // orders, caches, catch-ups and diffs, compared with plain arrays
        .testTarget(
            name: "OrderCachesTests",
            dependencies: [
                "FetchIndexCountedTree", "FetchIndexLMDB", "FetchIndexModels", "FetchIndexOrderCaches",
                "FetchIndexPlatform", "FetchIndexRecords", "FetchIndexSorting", "FetchIndexTestSupport",
                "FetchIndexValues",
            ], swiftSettings: strict),
        // the library as its users and its satellites see it; the documents and this drawing
        .testTarget(
            name: "FetchIndexTests",
            dependencies: [
                "FetchIndex", "FetchIndexLMDB", "FetchIndexModels", "FetchIndexOrderCaches", "FetchIndexPlatform",
                "FetchIndexPredicates", "FetchIndexRecords", "FetchIndexTestSupport", "FetchIndexValues",
            ], resources: [.copy("Catalogues"), .copy("Stores")], swiftSettings: unoptimized),
        // what a user's program sees, with nothing imported but FetchIndex and Foundation
        .testTarget(name: "FaceTests", dependencies: ["FetchIndex"], swiftSettings: strict),
        // pages that are cut off, overwritten or made up; full maps
        .testTarget(
            name: "PageTests",
            dependencies: [
                "FetchIndex", "FetchIndexLMDB", "FetchIndexModels", "FetchIndexOrderCaches", "FetchIndexRecords",
                "FetchIndexTestSupport", "FetchIndexValues",
            ], swiftSettings: unoptimized),
        // reading and importing catalogues: formats, compressed files, hostile files
        .testTarget(
            name: "CataloguesTests",
            dependencies: [
                "CFetchIndexZlib", "CFetchIndexZstd", "FetchIndex", "FetchIndexCatalogues", "FetchIndexTestSupport",
                "FetchIndexValues",
            ],
            swiftSettings: unoptimized),
        // models and stores of Core Data
        .testTarget(
            name: "CoreDataTests",
            dependencies: [
                "CFetchIndexSQLite", "FetchIndex", "FetchIndexCoreDataFiles", "FetchIndexInspection",
                "FetchIndexModels", "FetchIndexTestSupport", "FetchIndexValues",
            ], exclude: ["make_models.py", "make_stores.py"], resources: [.copy("Models"), .copy("Stores")],
            swiftSettings: unoptimized,
            // The tests change databases.
            linkerSettings: [.linkedLibrary("sqlite3")]),
        // the commands of the tools, in processes of their own
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "CFetchIndexSQLite", "FetchIndex", "FetchIndexBrowseTool", "FetchIndexCoreDataTool",
                "FetchIndexInspection", "FetchIndexLMDB", "FetchIndexRecords", "FetchIndexTestSupport",
                "FetchIndexTool",
            ],
            swiftSettings: unoptimized,
            // The tests make databases.
            linkerSettings: [.linkedLibrary("sqlite3")]),
        // the live page, asked over HTTP and in a browser
        .testTarget(
            name: "BrowseTests",
            dependencies: ["FetchIndex", "FetchIndexBrowseTool", "FetchIndexTestSupport", "FetchIndexTool"],
            swiftSettings: unoptimized),
        // PostgreSQL's protocol, and a server where one is installed
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "FetchIndex", "FetchIndexFollowTool", "FetchIndexModels", "FetchIndexPostgresSource",
                "FetchIndexRecords", "FetchIndexTestSupport", "FetchIndexTool", "FetchIndexValues",
            ], swiftSettings: unoptimized),
        // what victims do to a store, step by step, and what must be in it then
        .target(
            name: "FetchIndexFaultScript",
            dependencies: ["FetchIndex", "FetchIndexOrderCaches", "FetchIndexRecords", "FetchIndexTestSupport"],
            path: "Tests/FaultScript",
            swiftSettings: strict),
        // counts, traces and fails the system calls that write files (Linux)
        .target(name: "CFetchIndexWriteRecorder", path: "Tests/WriteRecorder", cSettings: strictC),
        // a program to be killed, starved and traced; its tests run it, but are not linked with it and its recorder
        .executableTarget(
            name: "FetchIndexVictim",
            dependencies: [
                "CFetchIndexWriteRecorder", "FetchIndex", "FetchIndexFaultScript", "FetchIndexRecords",
                "FetchIndexTestSupport",
            ],
            path: "Tests/Victim",
            swiftSettings: strict),
        // power losses, full disks, killed and many processes, few descriptors
        .testTarget(
            name: "FaultTests",
            dependencies: ["FetchIndex", "FetchIndexFaultScript", "FetchIndexRecords", "FetchIndexTestSupport"],
            swiftSettings: unoptimized),
        // what is done with an input of a fuzz target
        .target(
            name: "FetchIndexFuzzBodies",
            dependencies: [
                "FetchIndex", "FetchIndexCatalogues", "FetchIndexCountedTree", "FetchIndexModels",
                "FetchIndexOrderCaches", "FetchIndexPlatform", "FetchIndexPostgresSource", "FetchIndexPredicates",
                "FetchIndexRecords", "FetchIndexValues",
            ], path: "Tests/Fuzz/FuzzBodies", swiftSettings: strict),
        // the kept inputs of the fuzz targets
        .testTarget(name: "FuzzTests", dependencies: ["FetchIndexFuzzBodies"], swiftSettings: unoptimized),
    ],
    swiftLanguageModes: [.v6]
)

if isFuzzing {
    package.targets += [.systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer")]
    package.targets += ["FuzzPredicate", "FuzzRecord", "FuzzNode", "FuzzImport", "FuzzStream"].map { name in
        .executableTarget(
            name: name, dependencies: ["CLibFuzzer", "FetchIndexFuzzBodies"], path: "Tests/Fuzz/\(name)",
            swiftSettings: strict,
            // LLD comes with Swift; gold warns of hundreds of AddressSanitizer's symbols.
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])])
    }
}
