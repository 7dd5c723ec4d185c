internal import FetchIndexTestSupport

/// The steps of a victim. Each step is computed from the script, the seed of the tests, the step's number and the state
/// before it. So a test that reads a store after a crash can compute what the store must have.
package struct Script: Sendable {
    /// The kinds of steps. A fault in any step must not lose an acknowledged step.
    package enum Kind: Int, CaseIterable, Sendable {
        case save, liveSave, transaction, batchInsert, batchUpdate, batchDelete, open, openSorted, rebuild, deleteCache
        case deleteAllCaches, trim, migrate
    }

    private let seed: UInt64
    /// The approximate number of rows.
    private let rowCount: Int
    private let noteLength: Int

    package init(seed: UInt64, rowCount: Int = 200, noteLength: Int = 20) {
        self.seed = seed
        self.rowCount = rowCount
        self.noteLength = noteLength
    }

    /// Returns the step with this number, for a store that has this state. The step's kind is random if `kind` is nil.
    package func step(_ number: Int, _ state: ScriptState, kind: Kind? = nil) -> ScriptStep {
        var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        let kind = kind ?? Kind(rawValue: Int.random(in: 0..<Kind.allCases.count, using: &generator)) ?? .save
        let cache = ScriptCache.allCases[Int.random(in: 0..<ScriptCache.allCases.count, using: &generator)]
        switch kind {
        case .save: return .save(changes(number, state, &generator), isLive: false)
        case .liveSave: return .save(changes(number, state, &generator), isLive: true)
        case .transaction: return .transaction(changes(number, state, &generator, ofItems: true))
        case .batchInsert:
            return .batchInsert((0..<max(2, rowCount / 10)).map { ("\(number)-\($0)", row(&generator)) })
        case .batchUpdate: return .batchUpdate(group: group(&generator), size: .random(in: 0..<1000, using: &generator))
        case .batchDelete:
            // A deletion has a wider range if there are more than `rowCount` rows.
            let width: Int64 = state.rows.count > rowCount ? 400 : 10
            let first = Int64.random(in: 0..<1000, using: &generator)
            return .batchDelete(sizes: first...first + width)
        case .open: return .open(cache)
        case .openSorted: return .open(.byNote)
        case .rebuild: return .rebuild(cache)
        case .deleteCache: return .deleteCaches(cache)
        case .deleteAllCaches: return .deleteCaches(nil)
        case .migrate: return .migrate(factor: .random(in: 2...4, using: &generator))
        case .trim: return .trim(keeping: UInt64.random(in: 0..<8, using: &generator))
        }
    }

    /// Makes random changes. No two of them put or delete the same row, unless the store has rows of another step with
    /// this number. If `ofItems`, changes only items, since a `BatchWriter` writes one entity.
    private func changes(
        _ number: Int, _ state: ScriptState, _ generator: inout SeededGenerator, ofItems: Bool = false
    ) -> [ScriptChange] {
        var keys = state.rows.keys.sorted().filter { !ofItems || ItemRow.entity(of: $0) == ItemRow.entity }
        var changes: [ScriptChange] = []
        for _ in 0..<Int.random(in: 0...4, using: &generator) where !keys.isEmpty {
            let key = keys.remove(at: Int.random(in: 0..<keys.count, using: &generator))
            let isDeletion = Int.random(in: 0..<4, using: &generator) == 0 || state.rows.count > rowCount * 2
            changes.append(isDeletion ? .delete(key) : .put(key, row(&generator)))
        }
        for index in 0..<Int.random(in: 1...4, using: &generator) {
            let isSpecial = !ofItems && Int.random(in: 0..<3, using: &generator) == 0
            changes.append(.put("\(isSpecial ? ItemRow.subentityPrefix : "")\(number)-\(index)", row(&generator)))
        }
        if ofItems { return changes }
        let rows = state.rows.keys.sorted()
        for _ in 0..<Int.random(in: 0...3, using: &generator) where !rows.isEmpty {
            let pair = (0..<2).map { _ in rows[Int.random(in: 0..<rows.count, using: &generator)] }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: changes.append(.follow(pair[0], leader: nil))
            case 1, 2: changes.append(.follow(pair[0], leader: pair[1]))
            default: changes.append(.like(pair[0], pair[1]))
            }
        }
        return changes
    }

    private func group(_ generator: inout SeededGenerator) -> String {
        ["a", "b", "虐殺", "器官", "e", "f"][Int.random(in: 0..<6, using: &generator)]
    }

    private func row(_ generator: inout SeededGenerator) -> ItemRow {
        let letter = Character(UnicodeScalar(UInt8.random(in: 97..<123, using: &generator)))
        let group = Int.random(in: 0..<8, using: &generator) == 0 ? nil : group(&generator)
        return ItemRow(
            group: group, size: .random(in: 0..<1000, using: &generator),
            note: String(repeating: letter, count: .random(in: 0...noteLength, using: &generator)))
    }
}
