import FetchIndex
import FetchIndexRecords
#if os(Linux)
    import FetchIndexFaultScript
    import FetchIndex
    import Foundation
    import FetchIndexTestSupport
    import Testing

    /// Power losses, simulated from the trace of what a process wrote and synced.
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

            /// Whether a state belongs to a transaction: to the last step that had ended by then, or to the next one, of
            /// which a transaction was saved.
            func isState(_ state: ScriptState, of transaction: Int) -> Bool {
                let step = transactions.lastIndex { $0 <= transaction } ?? 0
                if state == states[step] { return true }
                return step + 1 < states.count && transaction > transactions[step] && state == states[step + 1]
            }
        }

        /// The acknowledged steps at a crash, the image that the crash left, and the description for a failure.
        private struct Crash {
            let steps: Int
            let transaction: Int
            let image: [UInt8]?
            let context: String
        }

        /// The wanted number of crashes: at all events, several times each, or at evenly spread events.
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

        /// Writes an image as a store's data file, and opens it as a user would.
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
                #expect(isWhole, "\(crash.context): no state of transaction \(last)")
                #expect(last >= crash.transaction, "\(crash.context): \(last) instead of \(crash.transaction)")
                saved += last > crash.transaction ? 1 : 0
            }
            print("summary: \(TestSettings.crashes) power losses, full: \(saved) saved what was in flight")
        }

        @Test func afterAPowerLossARelaxedStoreLacksTheLastTransactionAtMost() throws {
            let recording = try Recording("relaxed", steps: 40)
            var lost = 0
            try crash(recording) { crash in
                let (found, last) = try state(of: crash.image, crash.context)
                let isWhole = recording.isState(found, of: last)
                #expect(isWhole, "\(crash.context): no state of transaction \(last)")
                #expect(last >= crash.transaction - 1, "\(crash.context): \(last) instead of \(crash.transaction)")
                lost += last < crash.transaction ? 1 : 0
            }
            // Otherwise relaxed stores would be fully durable, and the documentation wrong.
            #expect(lost > 0)
            print("summary: \(TestSettings.crashes) power losses, relaxed: \(lost) took the last transaction")
        }

        /// LMDB creates its file in place. Half of it could be neither opened nor created again.
        @Test func aPowerLossDuringTheCreationOfAStoreLeavesOneThatOpens() throws {
            let recording = try Recording("full", steps: 1)
            try crash(recording, times: TestSettings.crashes / 2) { crash in
                let (found, last) = try state(of: crash.image, crash.context)
                let isWhole = recording.isState(found, of: last)
                #expect(isWhole, "\(crash.context): no state of transaction \(last)")
            }
        }

        /// This durability does not promise that commits are on the disk, so it must not wait for the disk.
        @Test func aStoreWithoutDurabilityNeverWaitsForTheDisk() throws {
            let recording = try Recording("none", steps: 10)
            for event in recording.events {
                switch event {
                case .sync, .syncFolder, .write(_, _, isDurable: true): Issue.record("it waited for the disk")
                default: break
                }
            }
        }

        /// Before the first acknowledgement the store's names are on disk: syncing a file does not put them there.
        @Test func theDataFileHasItsNameOnDiskBeforeACommitReturns() throws {
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
