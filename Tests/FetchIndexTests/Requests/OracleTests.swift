import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// Text orders and index titles, compared with PyICU.
@Suite struct OracleTests {
    /// The path of a Python that has PyICU, from FETCHINDEX_TEST_ORACLE; nil if it isn't set.
    static let python = TestSettings.oracle

    struct Question: Encodable {
        var texts: [String]
        var orders: [String]
        var locales: [String]
    }

    struct Answer: Decodable {
        let icu: String
        let orders: [String: [Int]]
        let titles: [String: [String]]
    }

    static let orders: [TextOrder] = [
        .caseInsensitive, .diacriticInsensitive, .caseDiacriticInsensitive, .localized("ja"), .localized("sv"),
        .localized("de"), .localized("en"), .localizedStandard("en"), .localizedStandard("ja"),
    ]
    static let locales = ["en", "ja", "sv", "de", "ru", "el"]

    static let curated = [
        "", " ", "a", "A", "b", "Apple", "apple", "Äpfel", "A\u{308}pfel", "apfel", "Ångström", "zebra", "Zoë", "Öl",
        "öl",
        "Straße", "STRASSE", "strasse", "Éclair", "éclair", "ﬁn", "Ørsted", "Ðuro", "þorn", "file1", "file2", "file10",
        "File 02", "10", "9", "007", "½", "あ", "ぁ", "ア", "ｱ", "か", "が", "ガ", "ｶﾞ", "カ\u{3099}", "さくら", "ちゃ", "っと",
        "ヴァイオリン", "はは", "ハハ", "パパ", "ばば", "ー", "ん", "ゎ", "ゑ", "を", "々", "漢字", "日本", "東京", "亜", "𠮷野家", "Ａ", "ｚ",
        "３", "Яблоко", "ёж", "Ёлка", "жук", "Ωμέγα", "άλφα", "Άλφα", "ς", "σ", "한국", "김", "😀", "👩‍👩‍👧", "#", "-x", "'tis",
        "\u{301}x", "\u{0}x", "IJssel", "ij", "Łódź", "İstanbul", "ıldız", "chata", "æble", "Œuvre", "٣", "א", "中文",
    ]

    /// A random text of one to six code points, from scripts, marks, digits and signs.
    private func randomText(_ generator: inout SeededGenerator) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0x61...0x7A, 0x41...0x5A, 0x20...0x7E, 0xC0...0x17F, 0x300...0x30C, 0x3041...0x3096, 0x30A1...0x30FC,
            0xFF66...0xFF9F, 0x3099...0x309A, 0x4E00...0x4EFF, 0x410...0x451, 0x391...0x3CE, 0x30...0x39,
            0xFF10...0xFF5A,
            0x1F600...0x1F64F, 0xAC00...0xAC80,
        ]
        var text = ""
        // Each character is of the text's favourite range with a probability of at least 2/3.
        let favourite = ranges.randomElement(using: &generator) ?? 0x61...0x7A
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let range =
                Int.random(in: 0..<3, using: &generator) > 0 ? favourite : ranges.randomElement(using: &generator)
            let scalar = Unicode.Scalar(UInt32.random(in: range ?? favourite, using: &generator))
            if let scalar { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    private func ask(_ question: Question, _ python: String) throws -> Answer {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let paths = [
            tests.path + "/Oracles/collation_and_index.py", folder.path + "/question", folder.path + "/answer",
        ]
        try JSONEncoder().encode(question).write(to: URL(fileURLWithPath: paths[1]))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = paths
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(python) failed; Debian's python3-icu has PyICU")
        return try JSONDecoder().decode(Answer.self, from: Data(contentsOf: URL(fileURLWithPath: paths[2])))
    }

    @Test(.enabled(if: python != nil, "FETCHINDEX_TEST_ORACLE is not set: it names a Python with PyICU"))
    func ordersAndIndexTitlesAgreeWithPyICU() throws {
        var generator = SeededGenerator(seed: 41)
        let texts = Self.curated + (0..<3000).map { _ in randomText(&generator) }
        let question = Question(texts: texts, orders: Self.orders.map(\.name), locales: Self.locales)
        let answer = try ask(question, try #require(Self.python))
        let version = try TextCollator(.caseInsensitive)?.version ?? ""
        try #require(version.hasPrefix("ICU \(answer.icu) "), "PyICU has another ICU, \(answer.icu)")

        let store = try LiveStore(Model(entities: [Entity("Text", [AttributeDescription("text", .string)])]))
        let writer = try BatchWriter(store.container, entity: "Text")
        for text in texts { try writer.insert([.string(text)]) }
        try writer.commit()
        for order in Self.orders {
            var found: [Int] = []
            let definition = OrderDefinition(entity: "Text", sortKeys: [SortKey("text", .ascending, order)])
            try store.container.withOrder(definition, .init()) { order in
                try order.forEachRow { found.append(Int($0.id.number) - 1) }
            }
            let expected = try #require(answer.orders[order.name])
            let place = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            #expect(found == expected, "\(order.name) differs first at \(place ?? found.count), seed 41")
        }
        for locale in Self.locales {
            var found = [String](repeating: "no row", count: texts.count)
            let definition = OrderDefinition(entity: "Text", sectionKey: .indexTitle("text", locale: locale))
            try store.container.withOrder(definition, .init()) { order in
                var names: [String] = []
                try order.forEachSection { section in
                    names.append(section.name)
                    return true
                }
                try order.forEachRow { found[Int($0.id.number) - 1] = names[$0.path.section] }
            }
            for (text, (found, expected)) in zip(texts, zip(found, try #require(answer.titles[locale]))) {
                #expect(found == expected, "\(locale): \(text.debugDescription), seed 41")
            }
        }
        print("\(Self.orders.count) orders, \(Self.locales.count) indexes of \(texts.count) texts compared with PyICU")
    }
}
