/// A generated catalogue of packages. The same seed gives the same rows on every machine.
///
/// Names are about as long as Debian's package names (about 15 bytes on average, at most 40). The sizes of the 260
/// sections roughly follow Zipf's law, the largest first.
public struct Catalogue {
    public struct Row {
        public var name: String
        public var section: String
        public var version: String
        public var architecture: String
        public var size: Int
        public var maintainer: String
        public var description: String
    }

    public static let sectionCount = 260
    public static let columns = ["name", "section", "version", "architecture", "size", "maintainer", "description"]

    private static let syllables = [
        "lib", "py", "go", "ru", "ka", "ten", "mo", "sql", "net", "graph", "ti", "ve", "ran", "do", "core", "data", "x",
        "qt",
        "fu", "json", "per", "l", "doc", "dev", "tra", "ns", "ki", "ba", "ze", "ul",
    ]
    private static let words = [
        "library", "for", "the", "fast", "parsing", "of", "documents", "tools", "and", "bindings", "development",
        "files",
        "server", "client", "graphical", "viewer", "interface", "to", "data", "network", "simple", "common", "runtime",
    ]

    private static let sections = (0..<sectionCount).map { "section-\(String($0, radix: 36))" }

    private var generator: SplitMix64
    private var number = 0
    /// For each section, the sum of its weight and the weights of the sections before it.
    private let shares: [Double]

    public init(seed: UInt64 = 2026) {
        generator = SplitMix64(state: seed)
        var sum = 0.0
        shares = (1...Self.sectionCount).map { rank in
            sum += 1 / Double(rank)
            return sum
        }
    }

    /// Returns the first `count` rows of the catalogue.
    public static func rows(_ count: Int) -> [Row] {
        var catalogue = Catalogue()
        return (0..<count).map { _ in catalogue.next() }
    }

    public mutating func next() -> Row {
        number += 1
        return Row(
            name: name(), section: section(), version: "\(int(12)).\(int(30)).\(int(100))-\(1 + int(5))",
            architecture: int(3) == 0 ? "all" : "amd64", size: 10 + int(int(20) == 0 ? 500_000 : 5000),
            maintainer: "\(word(2)) \(word(3)) <\(word(2))@example.org>", description: description())
    }

    private mutating func description() -> String {
        var text = ""
        for place in 0..<4 + int(6) {
            if place > 0 { text += " " }
            text += Self.words[int(Self.words.count)]
        }
        return text
    }

    /// Makes a random name, which ends with the number of rows made so far.
    public mutating func name() -> String { "\(word(2 + int(5)))-\(number)" }

    public mutating func section() -> String {
        let point = Double(generator.next() >> 11) / Double(1 << 53) * (shares.last ?? 1)
        return Self.sections[shares.firstIndex { $0 >= point } ?? 0]
    }

    /// Returns a random number below the bound.
    public mutating func int(_ bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }

    mutating func word(_ syllables: Int) -> String {
        var word = ""
        for _ in 0..<syllables { word += Self.syllables[int(Self.syllables.count)] }
        return word
    }
}

/// The generator SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
