#if os(Linux)
    import FetchIndexFaultScript
    import Foundation
    import FetchIndexTestSupport
    import Testing

    /// Processes are killed while they perform steps: at random moments, or at a write, sync, truncation or rename.
    @Suite struct VictimKillTests {
        /// A process is killed while it performs steps, and another one goes on. The store must have all acknowledged
        /// steps, and may have the step in flight. Every cache must agree with the records.
        @Test func aKilledProcessLosesNoAcknowledgedStep() throws {
            let victim = try VictimRunner()
            var generator = SeededGenerator(seed: 17)
            let script = Script(seed: max(1, TestSettings.seed))
            var state = ScriptState()
            var next = 0
            var acknowledged = 0
            var inFlight = 0
            for kill in 0..<(TestSettings.kills ?? 25) {
                let context = "seed \(max(1, TestSettings.seed)), kill \(kill), from step \(next)"
                var arguments = ["seed=\(max(1, TestSettings.seed))", "from=\(next)"]
                let isAtCall = kill % 3 == 2
                if isAtCall {
                    arguments.append("die=\(Int.random(in: 0..<120, using: &generator))")
                    if Bool.random(using: &generator) { arguments.append("half=1") }
                }
                let running = try victim.start("script", arguments)
                if !isAtCall {
                    // The process is killed after it has opened the store, and after a pause of up to 0.15 s.
                    try running.waitForLine()
                    usleep(UInt32.random(in: 0..<150_000, using: &generator))
                    Foundation.kill(running.process.processIdentifier, SIGKILL)
                }
                let lines = try running.finish()
                #expect(running.process.terminationReason == .uncaughtSignal, "\(context): \(lines)")
                for line in lines where line != "begun" {
                    let words = line.split(separator: " ")
                    try #require(words.count == 4 && words[1] == "\(next)", "\(context): \(line)")
                    state = state.after(script.step(next, state))
                    #expect(words[2] == "\(state.commit)", "\(context): \(line)")
                    next += 1
                    acknowledged += 1
                }
                let found = try soundState(victim.store, context)
                let after = state.after(script.step(next, state))
                try #require(
                    found == state || found == after,
                    "\(context): the store lost an acknowledged step, or has more than the step in flight")
                if found != state {
                    inFlight += 1
                    state = after
                    next += 1
                }
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: victim.store)
            #expect(
                Set(left).isSubset(of: ["data.mdb", "lock.mdb", "writer.lock", "build.lock", "statistics"]), "\(left)")
            #expect(acknowledged > (TestSettings.kills ?? 25), "too many kills came before an acknowledged step")
            print(
                "summary: \((TestSettings.kills ?? 25)) kills, seed \(max(1, TestSettings.seed)): \(acknowledged) steps acknowledged, "
                    + "\(inFlight) in flight and saved, \(state.rows.count) rows at commit \(state.commit)")
        }

        /// If the recorder saw no writes, the other tests would inject no faults.
        @Test func theRecorderSeesLMDBsWrites() throws {
            let victim = try VictimRunner()
            let trace = victim.folder.path + "/trace"
            _ = try victim.run("script", "count=12", "trace=\(trace)")
            let events = try WriteTrace(path: trace).events
            func count(_ isCounted: (WriteTrace.Event) -> Bool) -> Int { events.count(where: isCounted) }
            #expect(count { if case .write(_, _, isDurable: false) = $0 { true } else { false } } > 3)
            #expect(count { if case .write(_, _, isDurable: true) = $0 { true } else { false } } > 3)
            #expect(count { if case .sync = $0 { true } else { false } } > 3)
            #expect(count { if case .done = $0 { true } else { false } } == 12)
        }
    }
#endif
