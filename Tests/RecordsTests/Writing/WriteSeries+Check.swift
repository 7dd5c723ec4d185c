import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

extension WriteSeries {
    func check(_ draft: Draft, _ comment: String) throws {
        let snapshot = try test.store.snapshot()
        #expect(try snapshot.check() == [], "\(comment)")
        #expect(try test.contents() == draft.parts.mapValues { try $0.record() }, "\(comment)")
        let state = try snapshot.entityState(0)
        #expect(state.count == UInt64(draft.parts.count) && state.nextObject == draft.next, "\(comment)")
        let constraints = Part.entity.uniqueConstraints
        for number in 0...12 {
            let code = "code \(number)"
            let owner = draft.parts.first { $0.value.code == code }?.key
            #expect(try snapshot.object(0, slot: 0, equalTo: .string(code))?.number == owner, "\(comment): \(code)")
        }
        for (number, part) in draft.parts {
            guard let row = part.row, let column = part.column else { continue }
            let found = try snapshot.object(0, constraints[1], equalTo: [.integer(row), .integer(column)])
            #expect(found?.number == number, "\(comment): \(part)")
        }
        // The objects with codes in `"code 1"..<"code 5"`, in the order of the codes.
        var (lower, upper): ([UInt8], [UInt8]) = ([], [])
        OrderKey.append(.string("code 1"), to: &lower)
        OrderKey.append(.string("code 5"), to: &upper)
        let within = draft.parts.filter { ("code 1"..<"code 5").contains($0.value.code ?? "") }
        let ordered = within.sorted { $0.value.code ?? "" < $1.value.code ?? "" }.map(\.key)
        #expect(try snapshot.objects(0, constraints[0], from: lower, to: upper).map(\.number) == ordered, "\(comment)")
        for most in 0...ordered.count + 1 {
            let count = try snapshot.keyCount(0, constraints[0], from: lower, to: upper, atMost: most)
            #expect(count == (ordered.count <= most ? ordered.count : nil), "\(comment): at most \(most)")
        }
    }

    /// Checks the log's net changes from each commit to the newest one, and the changes of each commit, as far as the
    /// log reaches.
    func checkLog(_ comment: String) throws {
        let snapshot = try test.store.snapshot()
        let newest = snapshot.commit
        if hasCommitted { #expect(snapshot.state.logBytes <= snapshot.state.logLimit, "\(comment)") }
        #expect(states.keys.max() == newest, "\(comment)")
        for commit in 0...newest {
            guard commit >= snapshot.state.logStart else {
                #expect(!snapshot.logReaches(back: commit), "\(comment)")
                #expect(throws: StoreError.logTooShort(commit: commit), "\(comment)") {
                    try snapshot.netChanges(of: 0, from: commit) { _ in }
                }
                if commit > 0 {
                    #expect(throws: StoreError.logTooShort(commit: commit)) { try snapshot.changes(in: commit) }
                }
                continue
            }
            var replayed = try #require(states[commit], "\(comment): commit \(commit)").mapValues { try $0.record() }
            var last: UInt64 = 0
            try snapshot.netChanges(of: 0, from: commit) { change in
                let number = change.object.number
                #expect(change.old == replayed[number] && change.old != change.new, "\(comment), from \(commit)")
                #expect(number > last, "\(comment), from \(commit): the numbers ascend")
                last = number
                replayed[number] = change.new
            }
            #expect(try replayed == test.contents(), "\(comment), from \(commit)")
            if commit > snapshot.state.logStart { try checkCommit(commit, snapshot, comment) }
        }
        #expect(throws: StoreError.logTooShort(commit: newest + 1)) {
            try snapshot.netChanges(of: 0, from: newest + 1) { _ in }
        }
    }

    private func checkCommit(_ commit: UInt64, _ snapshot: Snapshot, _ comment: String) throws {
        let expected = kinds[commit] ?? [:]
        var found: [UInt64: LogEntryKind] = [:]
        for (object, kind) in try snapshot.changes(in: commit) { found[object.number] = kind }
        #expect(found == expected, "\(comment), commit \(commit)")
        let counts = try #require(try snapshot.commits(after: commit - 1).first, "\(comment)").changes[0]
        func count(_ kind: LogEntryKind) -> Int { expected.values.count { $0 == kind } }
        #expect(counts?.inserted == count(.inserted) && counts?.updated == count(.updated), "\(comment)")
        #expect(counts?.deleted == count(.deleted), "\(comment)")
    }
}
