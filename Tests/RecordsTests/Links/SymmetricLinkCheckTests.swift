import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Testing

@testable import FetchIndexLMDB
@testable import FetchIndexRecords

/// `check` reports links of relationships that are their own inverses and lead one way only, and a repair completes them.
@Suite struct SymmetricLinkCheckTests {
    private static let model = Model(entities: [
        Entity(
            "Person", [AttributeDescription("name", .string)],
            relationships: [
                RelationshipDescription("friends", toMany: "Person", inverse: "friends"),
                RelationshipDescription("partner", toOne: "Person", inverse: "partner"),
            ])
    ])

    private let test: TestStore
    private let join = 1

    /// Three persons: 1 and 2 are friends and partners, 3 is a friend of itself.
    init() throws {
        test = try TestStore(model: Self.model)
        let model = try test.store.snapshot().model
        try #require(model.entities[join].isJoin)
        func key(_ number: UInt64) -> Value {
            .integer(Int64(bitPattern: RecordKey(entity: 0, number: number).rawValue))
        }
        try test.write { writer in
            for number in 1...3 as ClosedRange<UInt64> {
                let plain = try model.entities[0].record([.string("\(number)")])
                let record =
                    number == 2 ? try model.entities[0].record(plain.span.bytes, setting: [1: key(1)]) : plain
                try writer.insert(0, record.span.bytes)
            }
            for (first, second) in [(1, 2), (3, 3)] as [(UInt64, UInt64)] {
                let empty = RecordBuilder.empty
                let record = try model.entities[join].record(
                    empty.span.bytes, setting: [0: key(first), 1: key(second)])
                try writer.insert(join, record.span.bytes)
            }
        }
    }

    private func check() throws -> [String] { try test.store.snapshot().check() }

    private func repair() throws -> [String] {
        var done: [String] = []
        try test.write { done = try $0.repair { _ in } }
        return done
    }

    @Test func aCommitCompletesLinksThatItsWriterMadeOneWay() throws {
        #expect(try check() == [])
        var partners: [UInt64?] = []
        var links = 0
        let snapshot = try test.store.snapshot()
        try snapshot.scan(0) { _, record in
            partners.append(try RecordView(record).integer(at: 1).map { RecordKey(rawValue: UInt64($0)).number })
            return true
        }
        try snapshot.scan(join) { _, _ in
            links += 1
            return true
        }
        #expect(partners == [2, 1, nil] && links == 3)
    }

    @Test func aLostTurnedLinkIsReportedAndRestored() throws {
        let writer = try test.store.beginWrite()
        let lost = RecordKey(entity: join, number: 3)
        let partner = RecordKey(entity: 0, number: 1)
        try #require(try writer.remove(lost) != nil)
        let old = try #require(try writer.copy(of: partner))
        let alone = try writer.model.entities[0].record(old.span.bytes, setting: [1: .null, 2: .null])
        try writer.update(partner, alone.span.bytes)
        writer.symmetricLinks = []
        try writer.commit()
        #expect(
            try check() == [
                "Person 2: its relationship partner is its own inverse and leads to Person 1, which lacks the link back",
                "Person 1: its relationship friends is its own inverse and leads to Person 2, which lacks the link back",
            ])
        let done = try repair()
        #expect(done == ["2 links of relationships that are their own inverses led one way: completed"])
        #expect(try check() == [])
    }
}
