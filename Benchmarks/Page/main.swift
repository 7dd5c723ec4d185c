internal import FetchIndexCLibrary
internal import FetchIndexEssentials

// usage: benchmark-page RESULTS.json OUT.html
// Writes the page of a run of Scripts/benchmark.

guard CommandLine.arguments.count == 3 else {
    print("usage: benchmark-page RESULTS.json OUT.html")
    exit(2)
}
do {
    let results = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
    try Data(BenchmarkPage(results: results).html().utf8).write(to: URL(fileURLWithPath: CommandLine.arguments[2]))
} catch {
    print("benchmark-page: \(error)")
    exit(1)
}
