internal import FetchIndexCLibrary
internal import FetchIndexEssentials

// usage: benchmark-page RESULTS.json OUT.html     the page of a run of Scripts/benchmark
//        benchmark-page RESULTS.json OUT.svg      the README's picture of such a run

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: benchmark-page RESULTS.json OUT.html|OUT.svg")
    exit(2)
}
do {
    let page = try BenchmarkPage(results: Data(contentsOf: URL(fileURLWithPath: arguments[1])))
    let isPicture = arguments[2].hasSuffix(".svg")
    guard
        let text = try isPicture
            ? page.picture(of: "warm fetch", title: BenchmarkPage.pictureTitle) : page.html()
    else {
        print("benchmark-page: \(arguments[1]) has no warm fetches of several numbers of rows")
        exit(1)
    }
    try Data(text.utf8).write(to: URL(fileURLWithPath: arguments[2]))
} catch {
    print("benchmark-page: \(error)")
    exit(1)
}
