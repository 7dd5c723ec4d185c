import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Objects that get numbers which other objects had before, or which were left out.
@Suite struct ReturnedObjectTests {
    /// The log leads from each state to each later one, whatever was deleted and has returned.
    @Test(arguments: 1...12)
    func netChangesAgreeWithAnOracle(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let test = try TestStore(model: TestStore.books)
        var states: [[UInt64: [UInt8]]] = [[:]]
        var first: UInt64?
        for round in 0..<12 {
            var state = states[states.count - 1]
            let writer = try test.store.beginWrite()
            if first == nil { first = writer.commit }
            for step in 0..<Int.random(in: 1...6, using: &generator) {
                let number = UInt64.random(in: 1...30, using: &generator)
                let object = RecordKey(entity: 0, number: number)
                let record = try test.book("\(round) \(step) \(number)")
                if state[number] == nil {
                    try writer.insert(object.entity, record.span.bytes, as: object.number, mayReturn: true)
                    state[number] = record
                } else if Bool.random(using: &generator) {
                    try writer.update(object, record.span.bytes)
                    state[number] = record
                } else {
                    try writer.delete(object)
                    state[number] = nil
                }
            }
            try writer.commit()
            states.append(state)
        }
        let snapshot = try test.store.snapshot()
        let start = try #require(first)
        #expect(try snapshot.entityState(0).count == UInt64(states[12].count))
        for (old, before) in states.enumerated() {
            for (new, after) in states.enumerated().dropFirst(old) {
                var found: [UInt64] = []
                try snapshot.netChanges(of: 0, from: start + UInt64(old), to: start + UInt64(new)) { change in
                    let number = change.object.number
                    found.append(number)
                    #expect(change.old == before[number] && change.new == after[number], "seed \(seed), #\(number)")
                }
                let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
                // An object that came and went may be named without records.
                #expect(Set(found).isSuperset(of: changed), "seed \(seed), \(old) to \(new)")
                #expect(found == found.sorted(), "seed \(seed)")
            }
        }
        #expect(try snapshot.check() == [], "seed \(seed)")
    }

    @Test func aNumberThatIsUsedIsRefused() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book("a")
        let other = try test.book("b")
        try test.write { try $0.insert(0, record.span.bytes) }
        #expect(throws: StoreError.self) {
            try test.write { try $0.insert(0, other.span.bytes, as: 1, mayReturn: true) }
        }
    }
}
