#if os(Linux)
    import FetchIndex
    import FetchIndexFaultScript
    import Foundation
    import FetchIndexTestSupport
    import Testing

    /// Full and failing disks.
    @Suite struct FullDiskTests {
        @Test func injectedFailuresOfSystemCallsLoseNoData() throws {
            let lines = try VictimRunner().run(
                "faults", "seed=\(max(1, TestSettings.seed))", "ways=\(TestSettings.isLong ? 4 : 2)")
            for line in lines where line.hasPrefix("defect") {
                Issue.record("seed \(max(1, TestSettings.seed)): \(line)")
            }
            let words = try #require(lines.last).split(separator: " ")
            try #require(words.count == 9 && words[0] == "finished", "\(lines.suffix(3))")
            // Many faults occurred. After some of them, the store had to be opened again. Some were in the files of
            // sorted runs.
            #expect(Int(words[1]) ?? 0 > 100 && Int(words[3]) ?? 0 > 0 && Int(words[5]) ?? 0 > 0, "\(words)")
            print("summary: \(lines.last ?? "")")
        }

        private func catalogue(_ rows: Int, in victim: VictimRunner) throws -> String {
            let path = victim.folder.path + "/rows.csv"
            let filling = String(repeating: "x", count: 60)
            let text = "id,section,note\n" + (0..<rows).map { "id-\($0),s\($0 % 20),\(filling)\n" }.joined()
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        private func shell(_ command: String) throws -> (status: Int32, output: String) {
            try TemporaryFolder.run("bash", ["-c", command])
        }

        private var tool: String { VictimRunner.executable("fetchindex").path }

        @Test(.disabled(if: isUnderSanitizer)) func theToolReportsAFileSizeLimit() throws {
            let victim = try VictimRunner()
            let file = try catalogue(20_000, in: victim)
            let command = "'\(tool)' import '\(victim.store)' '\(file)' --entity Row --key id 2>&1"
            // The limits are in blocks of 1,024 bytes, and less than the store's size.
            for limit in [4, 40, 400, 2000] {
                let (status, output) = try shell("ulimit -f \(limit); \(command)")
                #expect(status == 1, "\(limit): \(output)")
                #expect(output.hasPrefix("fetchindex: "), "\(output)")
                #expect(output.count(where: { $0 == "\n" }) == 1, "\(output)")
                #expect(output.contains("nothing of this transaction was saved"), "\(limit): \(output)")
            }
            let (status, output) = try shell(command)
            #expect(status == 0, "\(output)")
            #expect(output.contains("20,000 inserted"), "\(output)")
            let fetch = "'\(tool)' fetch '\(victim.store)' --entity Row --section section --sort id --cache c"
            let (limited, sentence) = try shell("ulimit -f 3000; \(fetch) 2>&1")
            #expect(limited == 1, "\(sentence)")
            #expect(sentence.contains("nothing of this transaction was saved"), "\(sentence)")
            #expect(try shell("\(fetch) --sections-only").status == 0)
            let (checked, defects) = try shell("'\(tool)' check '\(victim.store)'")
            #expect(checked == 0, "\(defects)")
        }

        /// After the error, SIGXFSZ must still have its default action.
        @Test(.disabled(if: isUnderSanitizer), arguments: [0, 4, 40, 400, 4000])
        func aFileSizeLimitCausesAnErrorInsteadOfASignal(limit: Int) throws {
            let victim = try VictimRunner()
            let program = VictimRunner.executable("FetchIndexVictim").path
            let (status, output) = try shell("ulimit -f \(limit); '\(program)' starved '\(victim.store)' of=bytes 2>&1")
            let lines = output.split(separator: "\n")
            #expect(status == 0 && lines.count == 2 && lines.last == "finished", "\(status): \(output)")
            #expect(lines.first?.hasPrefix("refused ") == true && output.contains("(ulimit -f)"), "\(output)")
        }

        /// Rows are committed in parts, and the unique keys of all rows in the last one. If this commit fails, the tool
        /// must report the number of rows that are in the store.
        @Test(.disabled(if: isUnderSanitizer)) func rowsReportedAsSavedAreInTheStore() throws {
            let victim = try VictimRunner()
            let path = victim.folder.path + "/scattered.csv"
            var rows = (0..<70_000).map { "id-\($0 * 7919 % 70_000),\(String(repeating: "x", count: 20))\n" }
            rows.append("id-5,again\n")
            try ("id,note\n" + rows.joined()).write(toFile: path, atomically: true, encoding: .utf8)
            var some = 0
            for limit in stride(from: 1500, through: 6500, by: TestSettings.isLong ? 100 : 500) {
                let store = victim.folder.path + "/limited-\(limit)"
                let (status, output) = try shell(
                    "ulimit -f \(limit); '\(tool)' import '\(store)' '\(path)' --entity Row --key id 2>&1")
                if status == 0 { continue }
                #expect(output.contains("(ulimit -f)"), "\(limit): \(output)")
                let told = try #require(output.firstMatch(of: /([0-9,]+) rows? before it/), "\(limit): \(output)").1
                let container = try PersistentContainer(at: URL(fileURLWithPath: store))
                let count = try container.model().entities.isEmpty ? 0 : container.count(ofEntity: "Row")
                #expect(Int(told.replacing(",", with: "")) == count, "\(limit): \(output)")
                if count > 0 { some += 1 }
                try FileManager.default.removeItem(atPath: store)
            }
            #expect(some > 0)
        }

        /// Mounts a file system in memory, and returns its path; nil if that isn't possible.
        private func mounted(megabytes: Int, in victim: VictimRunner) throws -> String? {
            let disk = victim.folder.path + "/disk"
            try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
            if try shell("mount -t tmpfs -o size=\(megabytes)m none '\(disk)' 2>/dev/null").status == 0 { return disk }
            print("skipped: this user may not mount a file system")
            return nil
        }

        @Test func importsIntoAFullFileSystemFailAndCanBeRepeated() throws {
            let victim = try VictimRunner()
            guard let disk = try mounted(megabytes: 3, in: victim) else { return }
            defer { _ = try? shell("umount '\(disk)'") }
            let file = try catalogue(20_000, in: victim)
            let command = "'\(tool)' import '\(disk)/store' '\(file)' --entity Row --key id 2>&1"
            // The free space goes from zero to 2,000 KiB, which isn't enough.
            for room in [0, 4, 16, 40, 400, 2000] {
                _ = try shell("head -c \(3072 - room)K /dev/zero > '\(disk)/filling'")
                let (status, output) = try shell(command)
                #expect(status == 1, "\(room) KiB free: \(status) \(output)")
                #expect(output.count(where: { $0 == "\n" }) == 1, "\(room) KiB free: \(output)")
                try FileManager.default.removeItem(atPath: disk + "/filling")
            }
            _ = try shell("mount -o remount,size=40m '\(disk)'")
            let (status, output) = try shell(command)
            #expect(status == 0, "\(output)")
            #expect(output.contains("20,000 inserted"), "\(output)")
            #expect(try shell("'\(tool)' check '\(disk)/store'").status == 0)
        }

        /// Each command succeeds or fails with one sentence. The store stays sound, and no partial file is left.
        @Test func copiesAndRebuildsSurviveAFullFileSystem() throws {
            let victim = try VictimRunner()
            guard let disk = try mounted(megabytes: 40, in: victim) else { return }
            defer { _ = try? shell("umount '\(disk)'") }
            let store = "'\(disk)/store'"
            let importing = "import \(store) '\(try catalogue(10_000, in: victim))' --entity Row --key id"
            let fetch = "fetch \(store) --entity Row --sort note --sections-only --cache"
            for command in [importing, fetch + " c"] { #expect(try shell("'\(tool)' \(command)").status == 0) }
            var failures: [String: Int] = [:]
            for room in [0, 4, 40, 400, 1000, 2000] {
                _ = try shell(
                    "head -c $(($(df --output=avail -k '\(disk)' | tail -1) - \(room)))K /dev/zero > '\(disk)/filling'")
                for command in [
                    "backup \(store) '\(disk)/copy'", "compact \(store)",
                    "export \(store) '\(disk)/o.csv' --entity Row",
                    "cache rebuild \(store)", "\(fetch) new", "cache delete \(store) c", "check \(store) --repair",
                ] {
                    let (status, output) = try shell("'\(tool)' \(command) 2>&1")
                    if status != 0 {
                        failures[String(command.prefix { $0 != " " }), default: 0] += 1
                        #expect(
                            status == 1,
                            "\(room) KiB free, \(command): \(output)")
                        #expect(
                            output.hasPrefix("fetchindex: "),
                            "\(room) KiB free, \(command): \(output)")
                        #expect(
                            output.count(where: { $0 == "\n" }) == 1,
                            "\(room) KiB free, \(command): \(output)")
                    }
                    _ = try shell("rm -rf '\(disk)/copy' '\(disk)/o.csv'")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: disk).sorted() == ["filling", "store"])
                let files = try Set(FileManager.default.contentsOfDirectory(atPath: disk + "/store"))
                #expect(
                    files.isSubset(of: ["data.mdb", "lock.mdb", "writer.lock", "build.lock", "statistics"]), "\(files)")
                _ = try shell("rm '\(disk)/filling'")
                #expect(try shell("'\(tool)' check \(store)").status == 0)
                #expect(try shell("'\(tool)' \(fetch) c").status == 0)
            }
            #expect(Set(failures.keys).isSuperset(of: ["backup", "compact", "export"]), "\(failures)")
        }
    }
#endif
