import FetchIndexRecords
#if os(Linux)
    internal import FetchIndexFaultScript
    internal import FetchIndex
    internal import Foundation
    internal import CFetchIndexWriteRecorder

    /// Performs the steps of a script, and acknowledges each step by a line: its number, the commit after it, and the
    /// store's last transaction. If `trace` is given, the file system calls and the acknowledgements are also written
    /// to that file. If `die` is given, the process is killed at the call with this number, which counts from 0; with
    /// `half`, in the middle of the call if it is a write.
    struct ScriptRun {
        private let arguments: VictimArguments
        private let script: Script

        init(_ arguments: VictimArguments) {
            self.arguments = arguments
            script = Script(seed: arguments.seed, rowCount: arguments.number("rows", or: 200))
        }

        func run() throws {
            try begin()
            let container = try PersistentContainer(
                at: URL(fileURLWithPath: arguments.store), model: ItemRow.model, durability: arguments.durability)
            VictimOutput.line("begun")
            let performer = ScriptPerformer(container)
            var state = try ScriptState(of: container)
            let first = arguments.number("from", or: 0)
            for number in first..<first + arguments.number("count", or: 1_000_000) {
                let step = script.step(number, state)
                try performer.perform(step)
                state = state.after(step)
                let transaction = try container.store.lastTransaction()
                // The number of steps done and the transaction have 32 bits each.
                recorder_mark(UInt64(number + 1) << 32 | UInt64(transaction))
                VictimOutput.line("done \(number) \(try container.store.snapshot().commit) \(transaction)")
            }
            VictimOutput.line("finished \(recorder_calls())")
        }

        private func begin() throws {
            guard arguments["trace"] != nil || arguments["die"] != nil else { return }
            var file: Int32 = -1
            if let trace = arguments["trace"] {
                file = open(trace, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
                if file < 0 { throw VictimArguments.Wrong(text: "\(trace) cannot be written") }
            }
            recorder_begin(arguments.store, file)
            guard arguments["die"] != nil else { return }
            let fate = arguments["half"] == nil ? RECORDER_DIE : RECORDER_DIE_HALF
            recorder_arm(Int32(fate), arguments.number("die", or: 0), 0)
        }
    }
#endif
