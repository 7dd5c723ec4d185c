import FetchIndexPlatform
import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexLMDB
@testable import FetchIndexRecords

/// `check` names each damaged unique key of an object.
@Suite struct UniqueCheckTests {
    @Test func eachDamagedUniqueKeyOfAnObjectIsReported() throws {
        let entity = Entity(
            "Part",
            [
                AttributeDescription("code", .string, isUnique: true),
                AttributeDescription("number", .integer, isUnique: true),
            ])
        let test = try TestStore(model: Model(entities: [entity]))
        let record = try entity.record([.string("a"), .integer(7)])
        try test.write { try $0.insert(0, record.span.bytes) }
        let object = RecordKey(entity: 0, number: 1)
        let keys = entity.uniqueConstraints.map { constraint in
            var key = StoreLayout.uniqueKey(entity: 0, constraint)
            OrderKey.append(constraint.number == 0 ? .string("a") : .integer(7), to: &key)
            return key
        }
        try change(keys, of: test) { [$0[0] ^ 1] + $0.dropFirst() }
        let mismatch = "the store is damaged: a unique key's value does not match its checksum"
        #expect(
            try test.store.snapshot().check() == [
                "Part 1: its unique key for code: \(mismatch)", "Part 1: its unique key for number: \(mismatch)",
            ])
        try change(keys, of: test) { [$0[0] ^ 1] + $0.dropFirst() }
        #expect(try test.store.snapshot().object(unique: keys[1]) == object)
    }

    private func change(_ keys: [[UInt8]], of test: TestStore, _ body: ([UInt8]) -> [UInt8]) throws {
        let transaction = try test.store.environment.beginWrite()
        for key in keys {
            var value: [UInt8] = []
            _ = try transaction.view.get(key.span.bytes, in: test.store.tables.unique) { value = [UInt8](copying: $0) }
            let changed = body(value)
            try transaction.view.put(changed.span.bytes, for: key.span.bytes, in: test.store.tables.unique)
        }
        try transaction.commit()
    }
}
