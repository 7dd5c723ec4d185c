import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// A store that random transactions write, and the contents that it must have.
final class WriteSeries {
    private enum Operation: CaseIterable {
        case insert
        case insertWithNumber
        case update
        case updateToEqual
        case delete
        case writeBatch
        case insertBatch
        case swapCodes
    }

    let test: TestStore
    let seed: UInt64
    private var generator: SeededGenerator
    private var written = Draft()
    /// Whether the last committed transaction changed objects.
    private(set) var hasCommitted = false
    /// The parts after each commit.
    private(set) var states: [UInt64: [UInt64: Part]] = [0: [:]]
    /// The kinds of each commit's changes, by object number.
    private(set) var kinds: [UInt64: [UInt64: LogEntryKind]] = [:]
    private var round = 0
    private(set) var refusedCount = 0
    private(set) var outcomeCount = 0

    init(seed: UInt64, writeMemory: Int? = nil) throws {
        self.seed = seed
        test = try TestStore(model: Model(entities: [Part.entity]), writeMemory: writeMemory)
        generator = SeededGenerator(seed: seed)
    }

    private func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private func newPart() -> Part {
        Part(
            code: int(0...4) == 0 ? nil : "code \(int(0...12))", row: int(0...5) == 0 ? nil : Int64(int(0...4)),
            column: int(0...5) == 0 ? nil : Int64(int(0...3)), price: Int64(int(0...2)))
    }

    /// The number of an object, mostly of one that exists.
    private func anyNumber(in draft: Draft) -> UInt64 {
        if int(0...5) > 0, let number = draft.parts.keys.sorted().randomElement(using: &generator) { return number }
        return UInt64(int(1...Int(draft.next) + 2))
    }

    // MARK: Transactions

    func writeTransaction() throws {
        round += 1
        let before = written
        let writer = try test.store.beginWrite()
        var draft = written
        draft.beginCommit()
        var commits: [(Draft, UInt64)] = []
        for part in 0...(int(0...3) == 0 ? 1 : 0) {
            // Each part is sealed on its own, in the same transaction.
            if part > 0 {
                commits.append((draft, try writer.seal()))
                try writer.beginNextCommit(author: "second")
                draft.beginCommit()
            }
            for _ in 0..<int(0...6) {
                let operation = Operation.allCases.randomElement(using: &generator) ?? .insert
                try perform(operation, writer, &draft, "seed \(seed), round \(round): \(operation)")
            }
        }
        if int(0...5) == 0 {
            try check(before, "seed \(seed), round \(round): dropped")
            return
        }
        if int(0...4) == 0 {
            let start = writer.state.logStart
            let commit = UInt64.random(in: 0...writer.state.commit, using: &generator)
            try writer.trimLog(through: commit)
            #expect(writer.state.logStart == max(start, commit))
        }
        commits.append((draft, try writer.seal()))
        try writer.commit()
        hasCommitted = false
        for (draft, commit) in commits where !draft.kinds.isEmpty {
            hasCommitted = true
            #expect(states[commit] == nil, "seed \(seed), round \(round): commit \(commit)")
            states[commit] = draft.parts
            kinds[commit] = draft.kinds
        }
        written = draft
        try check(written, "seed \(seed), round \(round)")
        try checkLog("seed \(seed), round \(round)")
    }

    func limitLog() throws {
        let limit = UInt64(int(0...3000))
        try test.write { $0.setLogLimit(limit) }
    }

    // MARK: Operations

    /// Runs a write, and expects that it's refused if `isRefused`, and made otherwise. The next check shows that a
    /// refused write has changed nothing.
    private func expect<Result>(
        refused isRefused: Bool, _ comment: String, _ body: () throws -> Result
    ) throws -> Result? {
        do {
            let result = try body()
            #expect(!isRefused, "\(comment): it was not refused")
            return result
        } catch let error as StoreError where error.isOfValues {
            #expect(isRefused, "\(comment): \(error)")
            refusedCount += 1
            return nil
        }
    }

    private func perform(
        _ operation: Operation, _ writer: StoreWriter, _ draft: inout Draft, _ comment: String
    ) throws {
        switch operation {
        case .insert:
            let (part, record) = try newRecord()
            let inserted = try expect(refused: draft.isTaken(part), comment) {
                try writer.insert(0, record.span.bytes)
            }
            let number = inserted == nil ? nil : draft.insert(part)
            #expect(inserted?.number == number, "\(comment)")
        case .insertWithNumber:
            let (part, record) = try newRecord()
            let number = int(0...9) == 0 ? 1 << 40 : draft.next + UInt64(int(0...40)) - min(draft.next, 3)
            let isFree = number >= draft.next && number < 1 << 40
            let inserted = try expect(refused: !isFree || draft.isTaken(part), comment) {
                try writer.insert(0, record.span.bytes, as: number)
            }
            if inserted != nil { _ = draft.insert(part, as: number) }
            #expect(inserted == nil || inserted?.number == number, "\(comment)")
        case .update, .updateToEqual:
            let number = anyNumber(in: draft)
            guard let old = draft.parts[number] else {
                let (_, record) = try newRecord()
                #expect(throws: StoreError.unknownObject("\(number)"), "\(comment)") {
                    try writer.update(RecordKey(entity: 0, number: number), record.span.bytes)
                }
                return
            }
            let part = operation == .update ? newPart() : old
            let record = try part.record()
            let isChanged = try expect(refused: draft.isTaken(part, except: number), comment) {
                try writer.update(RecordKey(entity: 0, number: number), record.span.bytes)
            }
            guard let isChanged else { return }
            #expect(isChanged == (part != old), "\(comment)")
            if isChanged { draft.change(number, to: part) }
        case .delete:
            let numbers = Set((0..<int(1...3)).map { _ in anyNumber(in: draft) }).sorted()
            let count = try writer.delete(numbers.map { RecordKey(entity: 0, number: $0) })
            let existing = numbers.filter { draft.parts[$0] != nil }
            #expect(count == existing.count, "\(comment)")
            for number in existing { draft.change(number, to: nil) }
        case .writeBatch: try writeBatch(writer, &draft, comment)
        case .insertBatch: try insertBatch(writer, &draft, comment)
        case .swapCodes: try swapCodes(writer, &draft, comment)
        }
    }

    private func newRecord() throws -> (Part, [UInt8]) {
        let part = newPart()
        return (part, try part.record())
    }

    /// Each record updates the object with the same code; if there isn't one, the object with the same row and column;
    /// if there is neither, it inserts an object. An update that takes another object's key is refused.
    private func writeBatch(_ writer: StoreWriter, _ draft: inout Draft, _ comment: String) throws {
        let parts = (0..<int(0...5)).map { _ in newPart() }
        var expected: [WriteOutcome?] = []
        for part in parts {
            let byCode = draft.parts.first { part.code != nil && $0.value.code == part.code }
            let byPlace = draft.parts.first {
                part.row != nil && part.column != nil && $0.value.row == part.row && $0.value.column == part.column
            }
            guard let (number, old) = byCode ?? byPlace else {
                expected.append(.inserted(RecordKey(entity: 0, number: draft.insert(part))))
                continue
            }
            let object = RecordKey(entity: 0, number: number)
            if old == part {
                expected.append(.unchanged(object))
            } else if draft.isTaken(part, except: number) {
                expected.append(nil)
            } else {
                draft.change(number, to: part)
                expected.append(.updated(object))
            }
        }
        var outcomes: [WriteOutcome?] = []
        let batch = RecordBatch(try parts.map { try $0.record() })
        try writer.write(
            0, batch, .update(by: Part.entity.uniqueConstraints),
            refused: { index, error in
                #expect(index == outcomes.count && error.isOfValues, "\(comment)")
                outcomes.append(nil)
            },
            done: { index, outcome in
                #expect(index == outcomes.count, "\(comment)")
                outcomes.append(outcome)
            })
        #expect(outcomes == expected, "\(comment)")
        outcomeCount += outcomes.count
    }

    /// The first record with a taken key ends the batch; the records before it are inserted.
    private func insertBatch(_ writer: StoreWriter, _ draft: inout Draft, _ comment: String) throws {
        let parts = (0..<int(0...5)).map { _ in newPart() }
        var numbers: [UInt64] = []
        var isRefused = false
        for part in parts where !isRefused {
            isRefused = draft.isTaken(part)
            if !isRefused { numbers.append(draft.insert(part)) }
        }
        var found: [UInt64] = []
        let batch = RecordBatch(try parts.map { try $0.record() })
        _ = try expect(refused: isRefused, comment) {
            try writer.write(0, batch, .insert) { _, outcome in found.append(outcome.object.number) }
        }
        #expect(found == numbers, "\(comment)")
    }

    /// Two objects exchange their codes, which each of them has to give up first.
    private func swapCodes(_ writer: StoreWriter, _ draft: inout Draft, _ comment: String) throws {
        let numbers = Array(draft.parts.keys.sorted().shuffled(using: &generator).prefix(2))
        guard numbers.count == 2, let one = draft.parts[numbers[0]], let other = draft.parts[numbers[1]] else { return }
        var (newOne, newOther) = (one, other)
        (newOne.code, newOther.code) = (other.code, one.code)
        let changes = [(numbers[0], one, newOne), (numbers[1], other, newOther)]
        for (number, old, new) in changes {
            let (old, new) = (try old.record(), try new.record())
            try writer.releaseUniqueKeys(
                of: RecordKey(entity: 0, number: number), old.span.bytes, for: new.span.bytes)
        }
        for (number, old, new) in changes {
            let record = try new.record()
            let isChanged = try writer.update(RecordKey(entity: 0, number: number), record.span.bytes)
            #expect(isChanged == (old != new), "\(comment)")
            if isChanged { draft.change(number, to: new) }
        }
    }
}
