import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

@Suite struct RequestTextTests {
    @Test(arguments: [
        "price", "price:desc", "name:caseInsensitive", "name:desc:localized=ja", "`a b,c`:desc",
        "name:localizedStandard=en_GB",
    ]) func aSortKeyIsReadBackFromItsText(text: String) throws {
        #expect(try SortKey<ManagedObject>(parsing: text).description == text)
    }

    @Test(arguments: [
        "section", "prefix(name,2)", "day(released)", "month(released,Asia/Tokyo)", "year(released)",
        "bucket(price,1000)",
        "bucket(rate,0.5)", "`a (b)`", "prefix(`a,b`,1)",
        "week(released)", "quarter(released,Asia/Tokyo)", "month(`a b`,UTC,japanese)", "year(released,UTC,hebrew)",
        "week(released,Asia/Tokyo,gregorian=sunday)", "week(released,UTC,islamic-umalqura=saturday)",
        "indexTitle(name,ja)", "indexTitle(`a,b`,de@collation=phonebook)",
    ]) func aSectionKeyIsReadBackFromItsText(text: String) throws {
        #expect(try SectionKey(parsing: text).description == text)
    }

    @Test(arguments: ["first-row", "name", "name:desc", "count", "count:asc", "name:desc:localized=ja"])
    func aSectionOrderIsReadBackFromItsText(text: String) throws {
        #expect(try SectionOrder(parsing: text).text == text)
    }

    @Test(arguments: ["", "price:down", "price:localized"]) func aMalformedSortKeyIsAnError(text: String) {
        #expect(throws: RequestError.self) { try SortKey<ManagedObject>(parsing: text) }
    }

    @Test(arguments: [
        "", "prefix(name)", "prefix(name,0)", "bucket(price,-1)", "week(", "hour(x)", "prefix(,1)", "a,b", "day(a,b,c)",
        "day(a,UTC,)", "day(a,UTC,japanese=)", "week(a,UTC,japanese,1)", "indexTitle(a)", "indexTitle(a,)",
        "indexTitle(a,ja,b)", "indexTitle(,ja)", "day()",
    ])
    func aMalformedSectionKeyIsAnError(text: String) {
        #expect(throws: RequestError.self) { try SectionKey(parsing: text) }
    }

    @Test func theDefaultTimeZoneAndCalendarMayBeSpelledOut() throws {
        #expect(try SectionKey(parsing: "day(a,UTC,iso8601)").description == "day(a)")
        #expect(try SectionKey(parsing: "week(a, Asia/Tokyo, gregorian)").description == "week(a,Asia/Tokyo)")
    }

    @Test func theErrorForAnUnknownCalendarListsTheKnownOnes() {
        let error = #expect(throws: RequestError.self) { try SectionKey(parsing: "day(a,UTC,lunar)") }
        #expect(
            "\(String(describing: error))".contains("\"lunar\" is not a calendar; write one of iso8601, gregorian, "))
    }

    @Test func aFingerprintHasTheVersionsThatItsSectionsDependOn() throws {
        let model = Model(entities: [
            Entity("E", [AttributeDescription("d", .date), AttributeDescription("t", .string)])
        ])
        func collation(_ key: SectionKey) throws -> String {
            let definition = OrderDefinition(entity: "E", sectionKey: key)
            let identity = try definition.compile(in: model).identity
            #expect(try OrderDefinition(identity, in: model) == definition)
            return identity.collation
        }
        #expect(try collation(.date("d", .week)) == "")
        #expect(try collation(.date("d", .week, timeZone: "Asia/Tokyo", calendar: .japanese)).hasPrefix("zones "))
        #expect(try collation(.date("d", .year, calendar: .japanese)).hasPrefix("CLDR "))
        let index = try collation(.indexTitle("t", locale: "ja"))
        #expect(index.hasPrefix("CLDR "))
        #expect(index.contains("ICU "))
        #expect(index.contains("collator "))
    }

    /// Older versions of FetchIndex computed averages of decimals as doubles. So their caches of orders by such
    /// averages must not be used.
    @Test(arguments: [("books.@avg.price", true), ("books.@sum.price", false), ("books.@avg.pages", false)])
    func aFingerprintHasTheVersionOfDecimalRulesOnlyForAveragesOfDecimals(path: String, matters: Bool) throws {
        let model = Model(entities: [
            Entity("Author", [], relationships: [RelationshipDescription("books", toMany: "Book", inverse: "author")]),
            Entity(
                "Book", [AttributeDescription("price", .decimal), AttributeDescription("pages", .integer)],
                relationships: [RelationshipDescription("author", toOne: "Author", inverse: "books")]),
        ])
        let folder = TemporaryFolder()
        let container = try PersistentContainer(path: folder.path, model: model)
        let definition = OrderDefinition(entity: "Author", sortKeys: [SortKey(path)])
        #expect(try definition.compile(in: container.model()).identity.collation == (matters ? "decimals 2" : ""))
    }

    @Test func aDefinitionIsReadBackFromItsFingerprint() throws {
        let model = Model(entities: [
            Entity("Book", [AttributeDescription("title", .string), AttributeDescription("price", .integer)])
        ])
        let definition = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("title CONTAINS[c] %@ OR price < 5", "\"影, \\"),
            sortKeys: [SortKey("title", .descending, .localized("ja")), SortKey("price")],
            sectionKey: .prefix("title", 1),
            sectionOrder: .byName(descending: true, .caseInsensitive),
            aggregates: [.max("price"), .sum("price")])
        let identity = try definition.compile(in: model).identity
        #expect(try OrderDefinition(identity, in: model) == definition)
        #expect(identity.collation.contains("ICU"))
        let plain = OrderDefinition(entity: "Book")
        #expect(try OrderDefinition(plain.compile(in: model).identity, in: model) == plain)
    }

    @Test func aRequestThatDoesNotFitItsModelIsAnError() {
        let model = Model(entities: [
            Entity("Book", [AttributeDescription("title", .string), AttributeDescription("price", .integer)])
        ])
        func compile(_ change: (inout OrderDefinition) -> Void) throws {
            var definition = OrderDefinition(entity: "Book")
            change(&definition)
            _ = try definition.compile(in: model)
        }
        #expect(throws: ModelError.unknownEntity("Shop")) { try compile { $0.entity = "Shop" } }
        #expect(throws: ModelError.self) { try compile { $0.sortKeys = [SortKey("pages")] } }
        #expect(throws: RequestError.self) {
            try compile { $0.sortKeys = [SortKey("price", .ascending, .localized("ja"))] }
        }
        #expect(throws: RequestError.self) { try compile { $0.sectionKey = .prefix("price", 1) } }
        #expect(throws: RequestError.self) { try compile { $0.sectionKey = .date("title", .day) } }
        #expect(throws: RequestError.self) { try compile { $0.sectionKey = .bucket("title", width: 5) } }
        #expect(throws: RequestError.self) { try compile { $0.sectionKey = .indexTitle("price", locale: "ja") } }
        #expect(throws: UnknownLocale.self) {
            try compile { $0.sectionKey = .indexTitle("title", locale: "xx") }
        }
        #expect(throws: UnknownLocale.self) {
            try compile { $0.sortKeys = [SortKey("title", .ascending, .localized("xx"))] }
        }
        #expect(throws: FetchPredicateError.self) { try compile { $0.predicate = try? FetchPredicate("pages > 5") } }
        #expect(throws: UnknownTimeZone.self) {
            let dated = Model(entities: [Entity("E", [AttributeDescription("d", .date)])])
            _ = try OrderDefinition(entity: "E", sectionKey: .date("d", .day, timeZone: "Mars")).compile(in: dated)
        }
        #expect(throws: UnusableCalendar.self) {
            let dated = Model(entities: [Entity("E", [AttributeDescription("d", .date)])])
            _ = try OrderDefinition(entity: "E", sectionKey: .date("d", .quarter, calendar: .hebrew)).compile(in: dated)
        }
    }
}
