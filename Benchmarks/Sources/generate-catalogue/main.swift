import Catalogue

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// usage: generate-catalogue ROWS      writes the catalogue as tab-separated values to standard output

guard let count = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) else {
    print("usage: generate-catalogue ROWS")
    exit(2)
}
var catalogue = Catalogue()
print(Catalogue.columns.joined(separator: "\t"))
for _ in 0..<count {
    let row = catalogue.next()
    print(
        "\(row.name)\t\(row.section)\t\(row.version)\t\(row.architecture)\t\(row.size)\t\(row.maintainer)\t\(row.description)"
    )
}
