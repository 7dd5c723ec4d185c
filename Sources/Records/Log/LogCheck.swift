internal import FetchIndexPlatform
internal import FetchIndexModels
/// Finds the defects of a log, such as damaged parts, missing commits, commits whose intact parts don't match their
/// header, and a wrong byte count. `LogProof` alone would stop at the first defect.
struct LogCheck {
    private let state: StoreState
    private(set) var defects: [String] = []
    private var byteCount: UInt64 = 0
    /// The number of the commit that is being read. Its counts are compared only if all of its parts are intact.
    private var commit: UInt64
    private var proof: LogProof
    private var isDamaged = false

    /// Begins to check the log that a store's state describes.
    init(_ state: StoreState) {
        self.state = state
        commit = state.logStart
        proof = LogProof(after: commit)
        if state.logStart > state.commit { defects.append("the log starts after the newest commit") }
    }

    /// Checks an entry of the log table. Must be called with all entries in key order.
    mutating func read(_ bytes: RawSpan, _ value: RawSpan) {
        byteCount += UInt64(value.byteCount)
        guard let key = LogKey(bytes) else {
            defects.append("the log has a malformed key")
            return
        }
        guard key.commit > state.logStart, key.commit <= state.commit else {
            defects.append("\(key.name) belongs to no commit of the log")
            return
        }
        if key.commit != commit { begin(key.commit) }
        do {
            if key.part > 0 {
                try StoreReader.forEachEntry(in: value, of: key) { entry, _ in proof.note(entry) }
            }
            if !isDamaged { try proof.begin(key, value) }
        } catch {
            add(error)
        }
    }

    /// Checks that the log ends with the newest commit, and has as many bytes as the state says. Must be called after
    /// the last entry.
    mutating func end() {
        endCommit(before: state.commit &+ 1)
        if byteCount != state.logBytes {
            defects.append("the log counts \(counted(state.logBytes, "byte")), but has \(byteCount)")
        }
    }

    private mutating func begin(_ next: UInt64) {
        endCommit(before: next)
        commit = next
        proof = LogProof(after: next - 1)
        isDamaged = false
    }

    private mutating func endCommit(before next: UInt64) {
        do { if !isDamaged { try proof.end(through: commit) } } catch { add(error) }
        let (first, last) = (commit &+ 1, next &- 1)
        if first == last { defects.append("the log has no commit \(first)") }
        if first < last { defects.append("the log has no commits \(first) to \(last)") }
    }

    private mutating func add(_ error: any Error) {
        defects.append("\(error)")
        isDamaged = true
    }
}
