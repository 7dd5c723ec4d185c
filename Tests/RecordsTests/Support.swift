import Foundation
import LMDB
import Testing
import Values

@testable import Records

/// A repeatable source of random numbers (SplitMix64); tests print its seed.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A store in a folder of its own, checked and removed with the test.
final class TestStore {
    static let model = Model(entities: [
        Entity("Book", [
            Attribute("id", .string, isOptional: false, isUnique: true), Attribute("price", .integer),
            Attribute("title", .string),
        ]),
        Entity("Shop", [Attribute("name", .string)]),
    ])

    let path = NSTemporaryDirectory() + "fetchindex-" + UUID().uuidString
    private(set) var store: Store

    init(model: Model = TestStore.model) throws { store = try Store(at: path, model: model, options: Self.options) }

    static var options: Store.Options {
        var options = Store.Options()
        options.durability = .none
        return options
    }

    deinit {
        do {
            let defects = try store.snapshot().check()
            if !defects.isEmpty { Issue.record("the store is damaged: \(defects)") }
        } catch {
            Issue.record("the store cannot be checked: \(error)")
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    @discardableResult
    func write(_ body: (StoreWriter) throws -> Void) throws -> UInt64 {
        let writer = try store.beginWrite()
        try body(writer)
        return try writer.commit()
    }

    func book(_ id: String, _ price: Int64? = nil, _ title: String? = nil) throws -> [UInt8] {
        try store.snapshot().model.entities[0].record([
            .string(id), price.map(Value.integer) ?? .null, title.map(Value.string) ?? .null,
        ])
    }

    /// All records of an entity by object number.
    func contents(_ entity: Int = 0) throws -> [UInt64: [UInt8]] {
        var contents: [UInt64: [UInt8]] = [:]
        try store.snapshot().scan(entity) { object, record in
            contents[object.number] = [UInt8](copying: record)
            return true
        }
        return contents
    }
}
