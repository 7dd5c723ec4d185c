import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Random files are imported into one store, each file twice. After each import, the store must equal a dictionary to
/// which the same files were applied.
@Suite struct ImportSeriesTests {
    static let seed: UInt64 = 51
    static let trials = TestSettings.isLong ? 200 : 4
    static let files = 5

    private static let model = Model(entities: [
        Entity("Owner", [AttributeDescription("name", .string, isOptional: false, isUnique: true)]),
        Entity(
            "Item",
            [
                AttributeDescription("k", .string, isOptional: false, isUnique: true),
                AttributeDescription("n", .integer), AttributeDescription("s", .string),
                AttributeDescription("x", .double, defaultValue: .double(0.5)),
            ],
            relationships: [
                RelationshipDescription("owner", toOne: "Owner"),
                RelationshipDescription("next", toOne: "Item", inverse: "previous"),
                RelationshipDescription("previous", toMany: "Item", inverse: "next"),
                RelationshipDescription("friends", toMany: "Item", inverse: "friendOf"),
                RelationshipDescription("friendOf", toMany: "Item", inverse: "friends"),
            ]),
    ])

    @Test(arguments: 0..<trials) func theStoreEqualsADictionaryAfterEachImport(trial: Int) throws {
        let tool = try Tool()
        var series = ImportSeries(seed: Self.seed + UInt64(trial))
        _ = try PersistentContainer(path: tool.store, model: Self.model)
        for number in 0..<Self.files {
            let step = "seed \(Self.seed), trial \(trial), file \(number)"
            let file = series.makeFile(try StoredItems(tool))
            let path = try tool.file("file-\(number).\(file.format)", file.text)
            let arguments = ["import", tool.store, path, "--entity", "Item"] + file.options
            let first = try tool.run(arguments)
            #expect(first.status == 0, "\(step): \(first.error)\n\(file.text)")
            func differences() throws -> [String] { try StoredItems(tool).differences(from: series.items) }
            try #require(differences() == [], "\(step), \(file.options): \(first.output)\n\(file.text)")
            let second = try tool.run(arguments)
            #expect(second.status == 0, "\(step): \(second.error)\n\(file.text)")
            if !file.hasDoubles {
                #expect(second.output.contains("0 inserted, 0 updated"), "\(step): \(second.output)\n\(file.text)")
            }
            try #require(differences() == [], "\(step), again: \(second.output)\n\(file.text)")
        }
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// The type that is inferred for a key keeps each key's text, in all formats.
    @Test(arguments: 0..<trials) func keysOfAFirstImportKeepTheirTexts(trial: Int) throws {
        let tool = try Tool()
        var random = SeededGenerator(seed: Self.seed + 1000 + UInt64(trial))
        let pools = [
            ["1", "2", "-7", "42"], ["1", "2.5", "0.1", "-3"], ["1", "1.0", "01", "+1", "1e0", "1E0"],
            ["2.0", "2", "20e-1", "x"], ["true", "TRUE", "false"], ["2024-01-02", "2024-01-02T00:00:00Z"],
            ["0", "-0", "0.0", "-0.0"], ["a", "A", "a ", "ä"],
            ["12345678901234567890123456789012345678901", "12345678901234567890123456789012345678902"],
        ]
        let pool = try #require(pools.randomElement(using: &random))
        var keys: Set<String> = []
        for number in 0..<3 {
            let format = try #require(["csv", "tsv", "jsonl"].randomElement(using: &random))
            let texts = number == 0 ? pool : (0..<3).compactMap { _ in pool.randomElement(using: &random) }
            keys.formUnion(texts)
            let lines = texts.enumerated().map { index, text in
                switch format {
                case "csv": "\(text),\(index)"
                case "tsv": "\(text)\t\(index)"
                default: "{\"k\":\"\(text)\",\"v\":\(index)}"
                }
            }
            let header = ["csv": ["k,v"], "tsv": ["k\tv"]][format] ?? []
            let path = try tool.file("keys-\(number).\(format)", (header + lines).joined(separator: "\n") + "\n")
            let step = "seed \(Self.seed), trial \(trial), file \(number), \(format) \(texts)"
            for _ in 0..<2 {
                let result = try tool.run("import", tool.store, path, "--entity", "E", "--key", "k")
                #expect(result.status == 0, "\(step): \(result.error)")
                let rows = try tool.run("fetch", tool.store, "--entity", "E", "--columns", "k", "--output", "tsv")
                    .output
                #expect(Set(rows.split(separator: "\n").dropFirst().map(String.init)) == keys, "\(step)")
            }
        }
    }
}

/// An object in the dictionary. Its key is the attribute `k`, and related objects are named by their keys.
private struct Item: Equatable {
    var n: Int?
    var s: String?
    var x: Double? = 0.5
    var owner: String?
    var next: String?
    var friends: Set<String> = []

    var text: String {
        "\(n.map(String.init) ?? "-") \(s ?? "-") \(x.map { "\($0)" } ?? "-") \(owner ?? "-") \(next ?? "-") \(friends.sorted())"
    }
}

/// The objects of a store, read from its exports.
private struct StoredItems {
    var items: [String: Item] = [:]
    var numbers: [String: Int] = [:]
    var store = ""

    func differences(from others: [String: Item]) -> [String] {
        Set(items.keys).union(others.keys).sorted().filter { items[$0] != others[$0] }.map {
            "\($0): stored \(items[$0]?.text ?? "none"), not \(others[$0]?.text ?? "none")"
        }
    }

    init(_ tool: Tool) throws {
        func rows(_ entity: String) throws -> [[String: Any]] {
            let result = try tool.run("export", tool.store, "--entity", entity)
            #expect(result.status == 0, "\(result.error)")
            return try result.output.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }
        let (owners, rows) = (try rows("Owner"), try rows("Item"))
        func names(_ rows: [[String: Any]], _ name: String) -> [String: String] {
            Dictionary(uniqueKeysWithValues: rows.map { ("\($0["@id"] as? Int ?? 0)", $0[name] as? String ?? "?") })
        }
        let (ownerNames, keys) = (names(owners, "name"), names(rows, "k"))
        for row in rows {
            let key = row["k"] as? String ?? "?"
            func related(_ name: String, _ names: [String: String]) -> String? {
                (row[name] as? String).map { names[$0] ?? "missing \($0)" }
            }
            items[key] = Item(
                n: row["n"] as? Int, s: row["s"] as? String, x: row["x"] as? Double,
                owner: related("owner", ownerNames),
                next: related("next", keys))
            numbers[key] = row["@id"] as? Int
            store = row["@store"] as? String ?? ""
        }
        // An export has only one of two inverse to-many relationships: `friendOf`, whose name sorts before `friends`.
        for row in rows {
            guard let key = row["k"] as? String, let friends = row["friendOf"] as? String else { continue }
            for friend in friends.split(separator: " ") {
                items[keys[String(friend)] ?? "missing"]?.friends.insert(key)
            }
        }
    }
}

/// Makes files, and applies them to a dictionary.
private struct ImportSeries {
    struct File {
        var format = "csv"
        var text = ""
        var options: [String] = []
        /// Whether several rows belong to one object, so that a repeated import may count updates.
        var hasDoubles = false
    }

    /// A field with a value or null. An absent field, which only JSON can have, has no `Field`.
    private enum Field: Equatable {
        case null
        case text(String)
        /// A number is written without quotation marks in JSON.
        case number(String)
    }

    private typealias Row = [String: Field]

    private(set) var items: [String: Item] = [:]
    private var random: SeededGenerator
    private static let keys = (0..<12).map { "k\($0)" } + ["7", "07", "キー", "a b"]
    private static let texts = ["", "a", "ä,\"b\"", "1.50", "null", " x "]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    private mutating func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &random) < chance }

    mutating func makeFile(_ stored: StoredItems) -> File {
        var file = File(format: one(of: ["csv", "tsv", "jsonl"]))
        let isKeyed = items.isEmpty || happens(0.7)
        // In an import with a key, the rows have the numbers of one or two other stores; without one, this store's.
        let stores =
            isKeyed ? (0..<Int.random(in: 1...2, using: &random)).map { _ in UUID().uuidString } : [stored.store]
        let isRelated = happens(0.6)
        file.options = isKeyed ? ["--key", "k"] : []
        if isRelated { file.options += ["--relate", "owner=Owner.name", "--create-related"] }
        var columns = ["n", "s", "x", "next", "friends"].filter { _ in happens(0.7) } + (isRelated ? ["owner"] : [])
        columns.shuffle(using: &random)
        var chosen = isKeyed ? Self.keys.filter { _ in happens(0.5) } : items.keys.sorted().filter { _ in happens(0.6) }
        if chosen.isEmpty { chosen = [isKeyed ? Self.keys[0] : items.keys.sorted()[0]] }
        // Each store of the file has its own keys. The numbers of other stores begin at 1.
        var owners: [String: (store: String, number: Int)] = [:]
        for (index, key) in chosen.shuffled(using: &random).enumerated() {
            let number = isKeyed ? 1 + index / stores.count : stored.numbers[key] ?? 0
            owners[key] = (stores[index % stores.count], number)
        }
        var order = chosen.shuffled(using: &random)
        if happens(0.4) {
            order += order.filter { _ in happens(0.3) }
            file.hasDoubles = Set(order).count < order.count
        }
        var rows: [Row] = []
        for key in order {
            guard let owner = owners[key] else { continue }
            var row: Row = [
                "k": .text(key), "@id": .number("\(owner.number)"), "@store": .text(owner.store),
            ]
            let others = owners.filter { $0.value.store == owner.store }.keys.sorted()
            for column in columns where file.format != "jsonl" || happens(0.8) {
                row[column] = field(column, others, in: file.format) { "\(owners[$0]?.number ?? 0)" }
            }
            rows.append(row)
        }
        for row in rows { apply(row, numbers: owners) }
        file.text = text(of: rows, ["@id", "k"] + columns + ["@store"], file.format)
        return file
    }

    private mutating func field(
        _ column: String, _ others: [String], in format: String, _ number: (String) -> String
    ) -> Field {
        if happens(0.25) { return .null }
        switch column {
        case "n": return .number("\(Int.random(in: -3...3, using: &random))")
        case "x": return .number(one(of: ["0.5", "-2.0", "1e+22", "3.25"]))
        case "s", "owner":
            let text = one(of: Self.texts)
            // An empty field of TSV means null.
            return format == "tsv" && text.isEmpty ? .null : .text(text)
        case "next": return .text(number(one(of: others)))
        default:
            let friends = others.filter { _ in happens(0.3) }
            return friends.isEmpty ? .null : .text(friends.map(number).joined(separator: " "))
        }
    }

    private mutating func apply(_ row: Row, numbers: [String: (store: String, number: Int)]) {
        guard case .text(let key)? = row["k"], case .text(let store)? = row["@store"] else { return }
        var item = items[key] ?? Item()
        func named(_ text: String) -> String {
            numbers.first { $0.value.store == store && "\($0.value.number)" == text }?.key ?? "?"
        }
        for (column, field) in row {
            var text: String?
            switch field {
            case .null: break
            case .text(let given), .number(let given): text = given
            }
            switch column {
            case "n": item.n = text.flatMap { Int($0) }
            case "s": item.s = text
            case "x": item.x = text.flatMap { Double($0) }
            // An empty text names no related object.
            case "owner": item.owner = text == "" ? nil : text
            case "next": item.next = text.map(named)
            case "friends": item.friends = Set((text ?? "").split(separator: " ").map { named(String($0)) })
            default: break
            }
        }
        items[key] = item
    }

    private func text(of rows: [Row], _ columns: [String], _ format: String) -> String {
        let separator = format == "csv" ? "," : "\t"
        func quoted(_ text: String) -> String {
            "\"" + text.replacingOccurrences(of: "\"", with: format == "csv" ? "\"\"" : "\\\"") + "\""
        }
        var lines = format == "jsonl" ? [] : [columns.joined(separator: separator)]
        for row in rows {
            let fields = columns.compactMap { column -> String? in
                guard let field = row[column] else { return nil }
                let written =
                    switch field {
                    case .null: format == "jsonl" ? "null" : ""
                    case .number(let digits): digits
                    case .text(let text): format == "tsv" ? text : quoted(text)
                    }
                return format == "jsonl" ? "\"\(column)\":\(written)" : written
            }
            lines.append(
                format == "jsonl" ? "{" + fields.joined(separator: ",") + "}" : fields.joined(separator: separator))
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
