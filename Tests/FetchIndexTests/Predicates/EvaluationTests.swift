import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndex
@testable import FetchIndexPredicates

/// Predicates that can be compiled have the same result on stored records, on dictionaries and in scans.
@Suite struct EvaluationTests {
    private static let names = ["text", "label", "count", "large", "rate", "when", "flag", "amount", "none"]
    private static let types: [ValueType] = [
        .string, .string, .integer, .integer, .double, .date, .boolean, .decimal, .string,
    ]

    private struct Random {
        var generator: SeededGenerator

        mutating func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: 0..<elements.count, using: &generator)]
        }

        mutating func value(_ type: ValueType) -> Value {
            switch type {
            case .string: .string(pick(["", "a", "Ab", "影", "がき", "か", "é", "e\u{301}", "STRASSE", "straße", "a*b"]))
            case .integer: .integer(pick([0, 1, -1, 2, 7, .max, .min, 1 << 53 + 1]))
            case .double: .double(pick([0, -0.0, 0.5, 2, 7.25, .nan, .infinity, 0x1p53, 1e300]))
            case .date: .date(Date(timeIntervalSinceReferenceDate: pick([0, 1.5, -86_400])))
            case .boolean: .boolean(pick([true, false]))
            default: .decimal(pick([0, 0.5, -1, 2]))
            }
        }

        mutating func operand(_ type: ValueType, depth: Int) -> ExpressionSyntax {
            let isNumber = type != .string && type != .date
            switch Int.random(in: 0..<(depth > 0 ? 6 : 3), using: &generator) {
            case 0...1:
                let indices = EvaluationTests.types.indices.filter { index in
                    let other = EvaluationTests.types[index]
                    return other == type || isNumber && other != .string && other != .date
                }
                return .attribute(EvaluationTests.names[pick(Array(indices))])
            case 2: return .value(Int.random(in: 0..<8, using: &generator) == 0 ? .null : value(type))
            case 3 where isNumber:
                return .operation(
                    pick(ArithmeticOperator.allCases), operand(pick([.integer, .double]), depth: depth - 1),
                    operand(.integer, depth: depth - 1))
            case 4 where isNumber:
                let functions: [PredicateFunction] = [.abs, .floor, .ceiling, .trunc, .negative, .sqrt]
                let inner = operand(.integer, depth: depth - 1)
                if case .value = inner { return inner }
                return .call(pick(functions), [inner])
            case 5 where type == .string:
                return .call(pick([.uppercase, .lowercase, .canonical]), [operand(.string, depth: depth - 1)])
            default:
                return .ternary(
                    .comparison(comparison(depth: depth - 1)), operand(type, depth: depth - 1),
                    operand(type, depth: depth - 1))
            }
        }

        mutating func comparison(depth: Int) -> Comparison {
            let type = pick(EvaluationTests.types)
            let folding = TextFolding(rawValue: UInt8.random(in: 0...3, using: &generator))
            let left = operand(type, depth: depth)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0 where type == .string:
                let searches: [FetchIndexPredicates.Comparator] = [.contains, .beginsWith, .endsWith, .like]
                return Comparison(left, pick(searches), folding: folding, operand(.string, depth: depth - 1))
            case 1:
                let list = (0..<3).map { _ in operand(type, depth: depth - 1) }
                return Comparison(left, .isIn, folding: folding, .list(list))
            case 2:
                let bounds = [operand(type, depth: depth - 1), operand(type, depth: depth - 1)]
                return Comparison(left, .between, folding: folding, .list(bounds))
            default:
                let comparators: [FetchIndexPredicates.Comparator] = [
                    .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
                ]
                return Comparison(left, pick(comparators), folding: folding, operand(type, depth: depth - 1))
            }
        }
    }

    @Test(arguments: 1...20) func predicatesGiveTheSameResultForRecordsAndDictionaries(seed: UInt64) throws {
        var random = Random(generator: SeededGenerator(seed: seed))
        let entity = Entity("Thing", zip(Self.names, Self.types).map { AttributeDescription($0, $1) })
        var compiledCount = 0
        for round in 0..<400 {
            var values = Self.types.map { type in random.pick([0, 0, 0, 1]) == 1 ? .null : random.value(type) }
            values[values.count - 1] = .null
            let record = try entity.record(values)
            let dictionary = Dictionary(uniqueKeysWithValues: zip(Self.names, values))
            let predicate = FetchPredicate(.comparison(random.comparison(depth: 3)))
            guard let compiled = try? CompiledPredicate(predicate, entity) else { continue }
            compiledCount += 1
            #expect(
                try compiled.evaluate(RecordView(record.span.bytes)) == predicate.evaluate(with: dictionary),
                "seed \(seed), round \(round): \(predicate) on \(dictionary)")
        }
        #expect(compiledCount > 250, "seed \(seed): only \(compiledCount) predicates compiled")
    }

    /// Scans evaluate blocks of records. With even seeds, some of the records lack the value of an added attribute.
    @Test(arguments: 1...10) func scansAgreeWithEvaluatingEachRecord(seed: UInt64) throws {
        var random = Random(generator: SeededGenerator(seed: seed))
        let folder = TemporaryFolder()
        let attributes = zip(Self.names, Self.types).map { AttributeDescription($0, $1) }
        var container: PersistentContainer? = try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: Model(entities: [Entity("Thing", attributes)]),
            durability: .none)
        func insert(_ count: Int, _ others: [Value]) throws {
            let writer = try BatchWriter(try #require(container), entity: "Thing")
            for _ in 0..<count {
                try writer.insert(
                    Self.types.map { type in random.pick([0, 0, 0, 1]) == 1 ? .null : random.value(type) } + others)
            }
            try writer.commit()
        }
        try insert(300, [])
        let hasDefault = seed % 2 == 0
        if hasDefault {
            container = nil
            let added = AttributeDescription("added", .integer, defaultValue: .integer(2))
            container = try PersistentContainer(
                at: URL(fileURLWithPath: folder.path), model: Model(entities: [Entity("Thing", attributes + [added])]),
                durability: .none)
        }
        try insert(100, hasDefault ? [.integer(7)] : [])
        let context = try #require(container).newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        let values = try context.fetch(request).map { object in
            let names = Self.names + (hasDefault ? ["added"] : [])
            return (object.objectID, Dictionary(uniqueKeysWithValues: names.map { ($0, object[$0]) }))
        }
        request.sortKeys = [SortKey("large"), SortKey("count", .descending)]
        var foundCount = 0
        for round in 0..<60 {
            let parts = (0..<Int.random(in: 1...3, using: &random.generator)).map { _ in
                PredicateSyntax.comparison(random.comparison(depth: 1))
            }
            let ofDefault = hasDefault && round % 3 == 0 ? [try FetchPredicate("added == 2").syntax] : []
            let all = ofDefault + parts
            let predicate = FetchPredicate(all.count == 1 ? all[0] : .and(all))
            request.predicate = predicate
            guard let found = try? context.fetch(request).map(\.objectID) else { continue }
            let expected = try values.filter { try predicate.evaluate(with: $0.1) }.map(\.0)
            #expect(Set(found) == Set(expected), "seed \(seed), round \(round): \(predicate)")
            #expect(found.count == expected.count)
            foundCount += found.isEmpty ? 0 : 1
        }
        #expect(foundCount > 10, "seed \(seed): only \(foundCount) predicates found rows")
    }

    @Test func aManagedObjectIsReadByKeyPaths() throws {
        let mail = try MailStore()
        let message = mail.objects[7]
        #expect(message.predicateValue(atKeyPath: ["uid"]) == 7)
        #expect(message.predicateValue(atKeyPath: ["folder", "name"]) == .one(.string("Archive")))
        #expect(message.predicateValue(atKeyPath: ["folder"]) == mail.folders[1].objectID.predicateValue)
        #expect(message.predicateValue(atKeyPath: ["folder", "entity", "name"]) == "Folder")
        #expect(mail.objects[6].predicateValue(atKeyPath: ["folder", "name"]) == .some(.one(.null)))
        #expect(message.predicateValue(atKeyPath: ["nothing"]) == Optional<PredicateValue>.none)
        guard case .list(let uids)? = mail.folders[1].predicateValue(atKeyPath: ["messages", "uid"]) else {
            Issue.record("no list")
            return
        }
        #expect(uids.count == mail.messages.filter { $0.folder == 1 }.count)
    }
}
