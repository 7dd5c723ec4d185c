import FetchIndexModels
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// The states of a context's unsaved edits, without a store: random transitions, compared with the records that a
/// follower must see.
@Suite struct UnsavedEditsTests {
    /// An object of the context: clean, changed (with its unsaved record), or deleted.
    private final class Item {
        enum State {
            case clean
            case changed([UInt8])
            case deleted
        }

        var key: RecordKey
        var state = State.clean

        init(_ key: RecordKey) { self.key = key }

        func record(over saved: [UInt8]?) -> [UInt8]? {
            switch state {
            case .clean: saved
            case .changed(let bytes): bytes
            case .deleted: nil
            }
        }
    }

    /// A model of a context, a store of records, and a follower that gets only changes.
    private struct Scene {
        var edits = UnsavedEdits<Item>()
        var stored: [RecordKey: [UInt8]] = [:]
        var items: [RecordKey: Item] = [:]
        var followed: [RecordKey: [UInt8]] = [:]
        var nextNumber: UInt64 = 1
        var nextTemporary = RecordKey.firstTemporaryNumber

        mutating func hear(_ changes: [RecordChange]) {
            for change in changes {
                #expect(followed[change.oldObject] == change.old)
                followed[change.oldObject] = nil
                followed[change.object] = change.new
            }
        }

        mutating func edit(_ key: RecordKey, _ state: Item.State) {
            let item = items[key] ?? Item(key)
            items[key] = item
            item.state = state
            edits.edit(key, isUnsaved: true)
        }

        mutating func insert(_ record: [UInt8]) {
            nextTemporary += 1
            edit(RecordKey(entity: 0, number: nextTemporary), .changed(record))
        }

        mutating func process() {
            let stored = stored
            hear(
                edits.takeUnprocessed().compactMap { key in
                    guard let item = items[key] else { return nil }
                    return edits.report(key, item.record(over: stored[key]), over: stored[key])
                })
        }

        /// Saves: stores the edits, and gives new objects permanent keys.
        mutating func save() {
            process()
            var committed: [RecordChange] = []
            var renumbered: [RecordKey: RecordKey] = [:]
            var keys: [RecordKey] = []
            for key in edits.unsaved {
                guard let item = items[key] else { continue }
                keys.append(key)
                let new = item.record(over: stored[key])
                var saved = key
                if key.isTemporary, new != nil {
                    saved = RecordKey(entity: 0, number: nextNumber)
                    nextNumber += 1
                    renumbered[saved] = key
                }
                if stored[saved] != new { committed.append(RecordChange(object: saved, old: stored[saved], new: new)) }
                stored[saved] = new
                items[key] = nil
                item.key = saved
                item.state = .clean
                if new != nil { items[saved] = item }
            }
            edits.save(keys, renumbered: renumbered)
            advance(committed)
        }

        /// Merges another context's commit, which has changed or deleted one object.
        mutating func merge(_ key: RecordKey, _ record: [UInt8]?) {
            process()
            let change = RecordChange(object: key, old: stored[key], new: record)
            stored[key] = record
            edits.save([], renumbered: [:])
            advance([change])
        }

        private mutating func advance(_ committed: [RecordChange]) {
            let (stored, items) = (stored, items)
            let step = edits.advance(committed, saved: { stored[$0] }) { key, saved in
                items[key]?.record(over: saved)
            }
            for change in step.unsaved { #expect(change.old == stored[change.object]) }
            hear(step.net)
        }

        mutating func rollBack() {
            process()
            let stored = stored
            for key in edits.unsaved { items[key]?.state = .clean }
            hear(edits.rollBack { stored[$0] })
            items = items.filter { !$0.key.isTemporary }
        }

        /// The records that the follower must see: the stored records, with unsaved records in their place.
        var expected: [RecordKey: [UInt8]] {
            var expected = stored
            for (key, item) in items { expected[key] = item.record(over: stored[key]) }
            return expected
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func aFollowerOfTheChangesSeesUnsavedRecordsInPlaceOfStoredOnes(
        seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        var scene = Scene()
        for step in 0..<300 {
            let record = [UInt8.random(in: 0...3, using: &generator)]
            let known = Set(scene.items.keys).union(scene.stored.keys).sorted()
            let key = known.randomElement(using: &generator)
            let permanent = scene.stored.keys.sorted().randomElement(using: &generator)
            switch Int.random(in: 0..<9, using: &generator) {
            case 0: scene.insert(record)
            case 1, 2: if let key { scene.edit(key, .changed(record)) }
            case 3: if let key { scene.edit(key, .deleted) }
            case 4: scene.save()
            case 5: if let permanent { scene.merge(permanent, record) }
            case 6: if let permanent { scene.merge(permanent, nil) }
            case 7: scene.rollBack()
            default: scene.process()
            }
            if !scene.edits.hasUnprocessed {
                #expect(scene.followed == scene.expected, "seed \(seed), step \(step)")
            }
        }
    }

    @Test func objectsThatLeaveTheContextAreKeptUntilTheDelivery() {
        var edits = UnsavedEdits<Item>()
        let (made, unmade) = (RecordKey(entity: 0, number: 1), RecordKey(entity: 0, number: 2))
        edits.leave(made, Item(made))
        edits.leave(unmade, record: [7])
        #expect(edits.leavingObject(made)?.key == made)
        #expect(edits.leavingRecord(unmade) == [7])
        edits.didDeliver()
        #expect(edits.leavingObject(made) == nil)
        #expect(edits.leavingRecord(unmade) == nil)
    }

    @Test func aListenerIsNotCalledAgainDuringItsDelivery() throws {
        let (delivery, first, second) = (Delivery(), Item(RecordKey(rawValue: 1)), Item(RecordKey(rawValue: 2)))
        var told: [String] = []
        delivery.tell(first) {
            told.append("first")
            #expect(delivery.isTelling(first))
            #expect(!delivery.isTelling(second))
            #expect(throws: ContextError.delivering) { try delivery.requireNone() }
            delivery.tell(first) { told.append("first again") }
            delivery.tell(second) { told.append("second") }
            #expect(delivery.isUnderWay)
        }
        #expect(told == ["first", "second"])
        #expect(!delivery.isUnderWay)
        try delivery.requireNone()
    }
}
