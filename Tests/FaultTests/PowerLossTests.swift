import FetchIndex
import FetchIndexRecords
#if os(Linux)
    import FetchIndexFaultScript
    import FetchIndex
    import Foundation
    import FetchIndexTestSupport
    import Testing

    /// Power losses are simulated from a trace of the writes and syncs of a process.
    @Suite struct PowerLossTests {
        /// A victim's trace, its state after each step, and the transaction that each step ended with.
        private struct Recording {
            let events: [WriteTrace.Event]
            private(set) var states = [ScriptState()]
            private(set) var transactions = [0]
            let victim: VictimRunner

            init(_ durability: String, steps: Int) throws {
                victim = try VictimRunner()
                let trace = victim.folder.path + "/trace"
                let lines = try victim.run(
                    "script", "seed=\(max(1, TestSettings.seed))", "count=\(steps)", "rows=60",
                    "durability=\(durability)",
                    "trace=\(trace)")
                try #require(lines.last?.hasPrefix("finished") == true, "\(lines)")
                events = try WriteTrace(path: trace).events
                let script = Script(seed: max(1, TestSettings.seed), rowCount: 60)
                for number in 0..<steps { states.append(states[number].after(script.step(number, states[number]))) }
                for event in events { if case .done(_, let transaction) = event { transactions.append(transaction) } }
                try #require(transactions.count == states.count)
            }

            /// Whether a store whose newest transaction is `transaction` may have this state. It may have the state
            /// after the last step that ended with this transaction or an earlier one. If the transaction is later than
            /// the end of that step, it belongs to the next step and may already have all of that step's changes. So
            /// the state after the next step is allowed, too.
            func isState(_ state: ScriptState, of transaction: Int) -> Bool {
                let step = transactions.lastIndex { $0 <= transaction } ?? 0
                if state == states[step] { return true }
                return step + 1 < states.count && transaction > transactions[step] && state == states[step + 1]
            }
        }

        /// The steps and the transaction that were acknowledged before a crash, the data file that the crash left (nil
        /// if none), and a description for messages.
        private struct Crash {
            let steps: Int
            let transaction: Int
            let image: [UInt8]?
            let context: String
        }

        /// Calls the body for `times` crashes, which are spread evenly over the events.
        private func crash(
            _ recording: Recording, times: Int = TestSettings.crashes, _ body: (Crash) throws -> Void
        ) throws {
            var generator = SeededGenerator(seed: 23)
            var disk = SimulatedDisk()
            var (steps, transaction) = (0, 0)
            let events = recording.events
            for index in 0...events.count {
                let next = index < events.count ? events[index] : nil
                let crashes = times * (index + 1) / (events.count + 1) - times * index / (events.count + 1)
                for _ in 0..<crashes {
                    let context =
                        "seed \(max(1, TestSettings.seed)), crash before event \(index) of \(events.count), step \(steps)"
                    let image = disk.crashed(during: next, using: &generator)
                    try body(Crash(steps: steps, transaction: transaction, image: image, context: context))
                }
                guard let next else { return }
                if case .done(let done, let last) = next { (steps, transaction) = (done, last) }
                disk.apply(next)
            }
        }

        /// Writes an image as a store's data file, and opens the store as a user would. Expects that the store is sound
        /// and can be written. Returns the state and the newest transaction that the store had before this write.
        private func state(of image: [UInt8]?, _ context: String) throws -> (ScriptState, transaction: Int) {
            let folder = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            if let image { try Data(image).write(to: URL(fileURLWithPath: folder.path + "/data.mdb")) }
            let container = try PersistentContainer(
                at: URL(fileURLWithPath: folder.path), model: ItemRow.model, durability: .none)
            let transaction = try container.store.lastTransaction()
            let defects = try container.check { _, _ in }
            #expect(defects.isEmpty, "\(context): \(defects)")
            // The store can be written again.
            let found = try ScriptState(of: container)
            let step = Script(seed: 5).step(1, found, kind: .transaction)
            try ScriptPerformer(container).perform(step)
            let shouldContinue = try ScriptState(of: container) == found.after(step)
            #expect(shouldContinue, "\(context)")
            return (found, transaction)
        }

        @Test func aFullyDurableStoreKeepsReturnedCommitsAfterAPowerLoss() throws {
            let recording = try Recording("full", steps: 40)
            var saved = 0
            try crash(recording) { crash in
                let (found, last) = try state(of: crash.image, crash.context)
                let isWhole = recording.isState(found, of: last)
                #expect(isWhole, "\(crash.context): the rows are not those of transaction \(last)")
                #expect(last >= crash.transaction, "\(crash.context): \(last) instead of \(crash.transaction)")
                saved += last > crash.transaction ? 1 : 0
            }
            print("summary: \(TestSettings.crashes) power losses, full: \(saved) saved the transaction in flight")
        }

        @Test func aRelaxedStoreLosesAtMostItsLastReturnedTransactionInAPowerLoss() throws {
            let recording = try Recording("relaxed", steps: 40)
            var lost = 0
            try crash(recording) { crash in
                let (found, last) = try state(of: crash.image, crash.context)
                let isWhole = recording.isState(found, of: last)
                #expect(isWhole, "\(crash.context): the rows are not those of transaction \(last)")
                #expect(last >= crash.transaction - 1, "\(crash.context): \(last) instead of \(crash.transaction)")
                lost += last < crash.transaction ? 1 : 0
            }
            // If no transaction were lost, the test wouldn't show that relaxed stores may lose one.
            #expect(lost > 0)
            print("summary: \(TestSettings.crashes) power losses, relaxed: \(lost) undid the last transaction")
        }

        /// If LMDB created the data file in place, a power loss could leave half a file, which LMDB can't open and
        /// doesn't replace. So the library creates the file in a temporary folder and renames it.
        @Test func aStoreOpensAfterAPowerLossDuringItsCreationOrFirstStep() throws {
            let recording = try Recording("full", steps: 1)
            try crash(recording, times: TestSettings.crashes / 2) { crash in
                let (found, last) = try state(of: crash.image, crash.context)
                let isWhole = recording.isState(found, of: last)
                #expect(isWhole, "\(crash.context): the rows are not those of transaction \(last)")
            }
        }

        /// This durability doesn't promise that commits are on disk, so the store must not wait for the disk.
        @Test func aStoreWithoutDurabilityDoesNotWaitForTheDisk() throws {
            let recording = try Recording("none", steps: 10)
            for event in recording.events {
                switch event {
                case .sync, .syncFolder, .write(_, _, isDurable: true): Issue.record("it waited for the disk")
                default: break
                }
            }
        }

        /// When a commit returns, the data file's name must be on disk, which syncing the file doesn't ensure. The file
        /// must be complete on disk when it gets its name.
        @Test func theDataFileHasItsNameOnDiskWhenACommitReturns() throws {
            for durability in ["full", "relaxed"] {
                var disk = SimulatedDisk()
                var isNamedWhole = false
                for event in try Recording(durability, steps: 2).events {
                    if case .name = event { isNamedWhole = disk.pending.isEmpty && disk.image.count >= 2 * 4096 }
                    disk.apply(event)
                    if case .done = event { #expect(disk.isNameDurable, "\(durability)") }
                }
                #expect(isNamedWhole, "\(durability): the data file got its name before it was on disk")
            }
        }
    }
#endif
