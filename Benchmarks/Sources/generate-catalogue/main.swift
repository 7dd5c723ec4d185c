import Catalogue

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// usage: generate-catalogue ROWS [packages|files|shuffledFiles]
//     writes a catalogue as tab-separated values to standard output: packages with names of about 15 bytes; or files with paths of
//     about 90 bytes with long common prefixes, sorted by path or shuffled

let arguments = CommandLine.arguments.dropFirst()
let shape = arguments.dropFirst().first ?? "packages"
guard let count = arguments.first.flatMap({ Int($0) }), count >= 0, arguments.count <= 2,
    ["packages", "files", "shuffledFiles"].contains(shape)
else {
    print("usage: generate-catalogue ROWS [packages|files|shuffledFiles]")
    exit(2)
}
if shape == "packages" {
    var catalogue = Catalogue()
    print(Catalogue.columns.joined(separator: "\t"))
    for _ in 0..<count {
        let row = catalogue.next()
        print(
            "\(row.name)\t\(row.section)\t\(row.version)\t\(row.architecture)\t\(row.size)\t\(row.maintainer)\t\(row.description)"
        )
    }
} else {
    print(FileCatalogue.columns.joined(separator: "\t"))
    for row in FileCatalogue.rows(count, isShuffled: shape == "shuffledFiles") {
        print("\(row.path)\t\(row.section)\t\(row.package)\t\(row.depth)\t\(row.length)")
    }
}
