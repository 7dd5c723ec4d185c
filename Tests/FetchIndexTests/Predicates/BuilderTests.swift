import Foundation
import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndex
@testable import FetchIndexPredicates

final class Volume: ManagedObject {
    @Attribute("title") var title: String
    @Attribute("price") var price: Int
    @Attribute("note") var note: String?
    @Attribute("rate") var rate: Double
    @Attribute("out") var isOut: Bool
    @Attribute("released") var released: Date?
}

@Suite struct BuilderTests {
    @Test func operatorsOnKeyPathsMakePredicates() throws {
        let cases: [(ObjectPredicate<Volume>, String)] = [
            (\Volume.price < 2000, "price < 2000"), (\.price >= 5 && \.price != 7, "price >= 5 AND price != 7"),
            (
                \Volume.price < 2000 && (\Volume.title).contains("影", .caseInsensitive),
                "price < 2000 AND title CONTAINS[c] \"影\""
            ),
            (
                \Volume.price < 1 || \.price > 2 || !(\Volume.isOut == true),
                "price < 1 OR price > 2 OR NOT out == TRUE"
            ),
            (
                \Volume.price == 1 && (\.note == nil || \.note == "x"),
                "price == 1 AND (note == nil OR note == \"x\")"
            ),
            (
                (\Volume.price).isIn([1, 2]) && (\Volume.rate).isBetween(0.5, 1),
                "price IN {1, 2} AND rate BETWEEN {0.5, 1.0}"
            ),
            ((\Volume.title).hasPrefix("a", [.caseInsensitive, .diacriticInsensitive]), "title BEGINSWITH[cd] \"a\""),
            (
                (\Volume.note).hasSuffix("z") || (\Volume.title).isLike("a*") || (\Volume.title).matches("a.*"),
                "note ENDSWITH \"z\" OR title LIKE \"a*\" OR title MATCHES \"a.*\""
            ),
            ((\Volume.title).isEqual(to: "É", .diacriticInsensitive), "title ==[d] \"É\""),
        ]
        for (predicate, format) in cases {
            #expect(FetchPredicate(predicate).description == format)
            #expect(try FetchPredicate(format) == FetchPredicate(predicate))
        }
    }

    @Test func predicatesCombineByAndOrNot() throws {
        let (first, second) = (try FetchPredicate("a == 1"), try FetchPredicate("b == 2 OR c == 3"))
        #expect((first && second).description == "a == 1 AND (b == 2 OR c == 3)")
        #expect((second || !first).description == "b == 2 OR c == 3 OR NOT a == 1")
    }

    @Test func predicateVariablesAreSubstituted() throws {
        let template = try FetchPredicate("price < $limit AND SUBQUERY({1}, $limit, $limit == $other).@count > 0")
        let predicate = try template.withSubstitutionVariables(["limit": 5, "other": ["a", "b"]])
        #expect(
            predicate.description
                == "price < 5 AND SUBQUERY({1}, $limit, $limit == {\"a\", \"b\"}).@count > 0")
        #expect(throws: FetchPredicateError.unknownVariable("limit")) { try template.evaluate(with: ["price": 1]) }
    }

    /// Foundation's own evaluation of a `#Predicate` is the oracle of its conversion.
    @Test func foundationPredicatesConvertToFetchPredicates() throws {
        let folder = TemporaryFolder()
        var options = Store.Options()
        options.durability = .none
        let container = try PersistentContainer(path: folder.path, model: Model(Volume.self), options: options)
        let context = container.newContext()
        for number in 0..<40 {
            let volume = Volume(context: context)
            volume.title = ["虐殺器官", "屍者の帝国", "x", "abc", ""][number % 5] + (number % 3 == 0 ? "影" : "")
            volume.price = number % 9 - 2
            volume.note = number % 4 == 0 ? nil : ["x", "xy", ""][number % 3]
            volume.rate = Double(number % 7) / 2
            volume.isOut = number % 2 == 0
            volume.released = number % 3 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number))
        }
        try context.save()
        let all = try context.fetch(FetchRequest<Volume>())
        let (limit, list, range, date) = (3, [1, 2, 5], 1...4, Date(timeIntervalSinceReferenceDate: 20))
        let predicates: [Predicate<Volume>] = [
            #Predicate { $0.price < limit && list.contains($0.price) },
            #Predicate { $0.note == "x" || $0.note == nil }, #Predicate { $0.note != "x" },
            #Predicate { !$0.title.isEmpty }, #Predicate { $0.title.starts(with: "虐") },
            #Predicate { $0.title.contains("影") }, #Predicate { "abcx".contains($0.title) },
            #Predicate { (1...5).contains($0.price) }, #Predicate { (1..<5).contains($0.price) },
            #Predicate { range.contains($0.price) }, #Predicate { $0.isOut }, #Predicate { !$0.isOut },
            #Predicate { $0.note?.contains("y") ?? false }, #Predicate { $0.note?.contains("y") ?? true },
            #Predicate { ($0.note ?? "y") == "y" }, #Predicate { $0.price + 2 > 5 && -$0.price < 3 },
            #Predicate { $0.price / 2 == 1 }, #Predicate { $0.price % 2 == 1 }, #Predicate { $0.rate / 2 > 0.5 },
            #Predicate { $0.title.count > 3 }, #Predicate { ($0.price > 2 ? $0.title : "x") == "x" },
            #Predicate { if let note = $0.note { note == "x" } else { false } },
            #Predicate { volume in list.allSatisfy { $0 < volume.price } },
            #Predicate { volume in list.contains { $0 == volume.price } },
            #Predicate { $0.released != nil && $0.price * 2 <= 6 }, #Predicate { $0.released == date },
        ]
        for predicate in predicates {
            let converted = try FetchPredicate(predicate)
            var request = FetchRequest<Volume>()
            request.predicate = converted
            let found = try context.fetch(request)
            let expected = try all.filter { try predicate.evaluate($0) }
            #expect(found == expected, "\(converted)")
            #expect(try FetchPredicate(converted.description) == converted)
        }
        #expect(try FetchPredicate(predicates[0]).description == "price < 3 AND price IN {1, 2, 5}")
        #expect(throws: FetchPredicateError.self) { try FetchPredicate(#Predicate<Volume> { $0.objectID.number > 3 }) }
    }
}
