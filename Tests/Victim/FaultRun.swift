internal import FetchIndex
#if os(Linux)
    internal import FetchIndexFaultScript
    internal import FetchIndex
    internal import Foundation
    internal import CFetchIndexWriteRecorder

    /// Makes the writes, truncations and renames of data files and sorted runs, and the syncs of these files and of
    /// folders, fail one after the other, in several ways, in each kind of step and in the creation of a store. Checks
    /// that the store is unchanged, that the error says so or that the store must be opened again, and that the
    /// repeated step succeeds. Prints a line for each defect, and finally the number of faults, of faults after which
    /// the store had to be opened again, and of faults in sorted runs.
    final class FaultRun {
        private let arguments: VictimArguments
        private let faults: [Fault]
        private let script: Script
        private var number = 0
        private var met = 0
        private var deaths = 0
        private var sorted = 0
        private var performer: ScriptPerformer
        private var state = ScriptState()

        private struct Fault {
            let name: String
            let fate: Int
            let code: Int32

            static let all = [
                Fault(name: "full", fate: Int(RECORDER_FAIL_ON), code: ENOSPC),
                Fault(name: "full in the middle of a write", fate: Int(RECORDER_FAIL_HALF), code: ENOSPC),
                Fault(name: "failing", fate: Int(RECORDER_FAIL), code: EIO),
                Fault(name: "failing after the call", fate: Int(RECORDER_FAIL_LATE), code: EIO),
            ]
        }

        init(_ arguments: VictimArguments) throws {
            self.arguments = arguments
            // The seed determines which kinds of faults are used.
            let ways = arguments.number("ways", or: Fault.all.count)
            faults = (0..<ways).map { Fault.all[($0 * 3 + Int(arguments.seed % 4)) % 4] }
            script = Script(seed: arguments.seed, rowCount: 60, noteLength: 3000)
            try FileManager.default.createDirectory(atPath: arguments.store, withIntermediateDirectories: true)
            recorder_begin(arguments.store, -1)
            performer = ScriptPerformer(try Self.open(arguments.store + "/store"))
        }

        private static func open(_ path: String) throws -> PersistentContainer {
            try PersistentContainer(at: URL(fileURLWithPath: path), model: ItemRow.model)
        }

        func run() throws {
            for _ in 0..<12 { try perform(.batchInsert) }
            for kind in Script.Kind.allCases {
                for fault in faults { try fail(kind, fault) }
            }
            for fault in faults { try failOpening(fault) }
            VictimOutput.line("finished \(met) faults, \(deaths) reopened, \(sorted) in sorted runs")
        }

        private func perform(_ kind: Script.Kind) throws {
            let step = script.step(number, state, kind: kind)
            try performer.perform(step)
            state = state.after(step)
            number += 1
        }

        /// Performs steps of a kind with a fault in the first call, in the second call, and so on, until a step has
        /// fewer calls.
        private func fail(_ kind: Script.Kind, _ fault: Fault) throws {
            for call in 0..<200 {
                try prepare(kind)
                let step = script.step(number, state, kind: kind)
                number += 1
                recorder_arm(Int32(fault.fate), call, fault.code)
                var failure: (any Error)?
                do { try performer.perform(step) } catch { failure = error }
                recorder_disarm()
                if recorder_met() == 0 {
                    if let failure { report(kind, fault, call, "it failed without a fault: \(failure)") }
                    state = state.after(step)
                    return
                }
                met += 1
                if recorder_met_file() == RECORDER_SORT { sorted += 1 }
                try examine(kind, fault, call, step, failure)
            }
            report(kind, fault, 200, "it makes more calls than this test expects")
        }

        /// Prepares the store so that a step of a kind usually writes.
        private func prepare(_ kind: Script.Kind) throws {
            switch kind {
            case .open, .openSorted: try performer.perform(.deleteCaches(nil))
            case .deleteCache, .deleteAllCaches:
                for cache in ScriptCache.allCases { try performer.perform(.open(cache)) }
            case .trim: for _ in 0..<9 { try perform(.transaction) }
            // The log is trimmed, since checking a long log takes long.
            default: if number % 8 == 0 { try performer.perform(.trim(keeping: 4)) }
            }
            // Deleted rows are replaced, so that enough notes are sorted on disk.
            if state.rows.count < 60 { try perform(.batchInsert) }
        }

        private func examine(
            _ kind: Script.Kind, _ fault: Fault, _ call: Int, _ step: ScriptStep, _ failure: (any Error)?
        ) throws {
            guard let failure else { return report(kind, fault, call, "the step succeeded despite the fault") }
            let sentence = "\(failure)"
            let isDead = failure as? StoreError == .mustBeReopened
            let saysNothingWasSaved = sentence.contains("nothing of this transaction was saved")
            if sentence.contains("\n") || !(isDead || saysNothingWasSaved) {
                report(kind, fault, call, "the error is: \(sentence)")
            }
            if isDead {
                deaths += 1
                try reopen()
            }
            try compare(kind, fault, call, "after the fault")
            do {
                if isDead { try performer.perform(step) } else { try performer.performAgain(step) }
            } catch { report(kind, fault, call, "the repeated step failed: \(error)") }
            state = state.after(step)
            let found = try ScriptState(of: performer.container)
            if found != state { report(kind, fault, call, "after the repeated step, the rows or the commit are wrong") }
        }

        /// Releases everything that has the store open, and opens the store again.
        private func reopen() throws {
            performer = ScriptPerformer(try Self.open(arguments.store + "/other"))
            performer = ScriptPerformer(try Self.open(arguments.store + "/store"))
        }

        private func compare(_ kind: Script.Kind, _ fault: Fault, _ call: Int, _ when: String) throws {
            let found = try ScriptState(of: performer.container)
            if found != state { report(kind, fault, call, "\(when), the rows or the commit are wrong") }
            for defect in try performer.container.check(progress: { _, _ in }) {
                report(kind, fault, call, "\(when), \(defect)")
            }
        }

        private func report(_ kind: Script.Kind, _ fault: Fault, _ call: Int, _ text: String) {
            VictimOutput.line("defect \(kind), disk \(fault.name) at call \(call): \(text)")
        }

        /// Creates stores while calls fail, and opens them again without faults.
        private func failOpening(_ fault: Fault) throws {
            for call in 0..<100 {
                let path = arguments.store + "/new-\(fault.fate)-\(call)"
                recorder_arm(Int32(fault.fate), call, fault.code)
                var failure: (any Error)?
                do { _ = try Self.open(path) } catch { failure = error }
                recorder_disarm()
                if recorder_met() == 0 {
                    if let failure { VictimOutput.line("defect opening failed without a fault: \(failure)") }
                    return
                }
                met += 1
                let sentence = failure.map { "\($0)" } ?? "nothing"
                let isDead = failure as? StoreError == .mustBeReopened
                if isDead { deaths += 1 }
                if !(isDead || sentence.contains("nothing of this transaction was saved")) {
                    VictimOutput.line("defect opening, disk \(fault.name) at call \(call): the error is: \(sentence)")
                }
                let container = try Self.open(path)
                let defects = try container.check(progress: { _, _ in })
                let state = try ScriptState(of: container)
                if !defects.isEmpty || state != ScriptState() {
                    VictimOutput.line("defect opening, disk \(fault.name) at call \(call): \(defects)")
                }
                try FileManager.default.removeItem(atPath: path)
            }
            VictimOutput.line("defect opening: it makes more calls than this test expects")
        }
    }
#endif
