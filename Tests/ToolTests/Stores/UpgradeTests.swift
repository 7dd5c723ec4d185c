import FetchIndexLMDB
import FetchIndexTestSupport
import Foundation
import Testing

/// A store of the other LMDB is read by commands that only read, and converted by `upgrade`.
@Suite struct UpgradeTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        try OtherLMDBStore.write(to: tool.store)
    }

    private var dataFile: String { tool.store + "/data.mdb" }

    /// The bytes of all files in the store's folder.
    private func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: tool.store) {
            files[name] = try Data(contentsOf: URL(fileURLWithPath: tool.store + "/" + name))
        }
        return files
    }

    /// Commands that only read, without the store's folder.
    private static let reading: [[String]] = [
        ["check"], ["cache", "verify", "by group"], ["export", "--entity", "Item"],
        ["fetch", "--entity", "Item", "--sort", "price,key", "--output", "csv"],
        ["fetch", "--entity", "Item", "--where", "key == 'item 17'", "--output", "csv"],
        ["fetch", "--entity", "Item", "--where", "text BEGINSWITH 'long'", "--section", "group", "--output", "csv"],
        ["fetch", "--cache", "by group", "--output", "csv"], ["model", "show"],
    ]

    private func arguments(_ command: [String]) -> [String] {
        let count = ["model", "cache"].contains(command[0]) ? 2 : 1
        return Array(command.prefix(count)) + [tool.store] + command.dropFirst(count)
    }

    @Test func commandsThatReadPrintTheSameBeforeAndAfterAnUpgrade() throws {
        let before = try files()
        var printed: [String] = []
        for command in Self.reading {
            let result = try tool.run(arguments(command))
            #expect(result.status == 0, "\(command): \(result.error)")
            printed.append(result.output)
        }
        #expect(try tool.run("info", tool.store).output.contains("file of \(OtherLMDBStore.layout.releases) "))
        #expect(try tool.run("cache", "list", tool.store).output.contains("by group"))
        #expect(try tool.run("report", tool.store, "--out", tool.folder.path + "/report.html").status == 0)
        var after = try files()
        after["statistics"] = nil
        #expect(after == before, "\(after.keys)")

        #expect(try tool.run("upgrade", tool.store).status == 0)
        for (command, output) in zip(Self.reading, printed) {
            #expect(try tool.run(arguments(command)).output == output, "\(command)")
        }
        #expect(try tool.run("info", tool.store).output.contains("file of \(PageLayout.linked.releases) "))
    }

    @Test func anUpgradeKeepsEverything() throws {
        let old = try Data(contentsOf: URL(fileURLWithPath: dataFile))
        let before = try tool.run("info", tool.store, "--output", "json")
        let upgraded = try tool.run("upgrade", tool.store, "--output", "json")
        #expect(upgraded.status == 0, "\(upgraded.error)")
        #expect(upgraded["from"] as? String == OtherLMDBStore.layout.releases)
        #expect(upgraded["to"] as? String == PageLayout.linked.releases)
        #expect(try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb.before")) == old)
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: tool.store)).isSubset(
                of: ["data.mdb", "data.mdb.before", "lock.mdb", "statistics", "writer.lock"]))
        let after = try tool.run("info", tool.store, "--output", "json")
        let hasChecksums = (after["lmdb"] as? [String: Any])?["hasPageChecksums"] as? Bool
        #expect(hasChecksums == (PageLayout.linked == .version3))
        for key in ["commit", "format"] { #expect(after[key] as? Int == before[key] as? Int, "\(key)") }
        // The cache has the state that it had before, and catches up with the commit that it lacks.
        let outcome = try tool.run("fetch", tool.store, "--cache", "by group", "--output", "json")["outcome"]
        #expect((outcome as? [String: Any])?["kind"] as? String == "caughtUp")
        #expect(try tool.run("fetch", tool.store, "--cache", "by group", "--require", "hit").status == 0)
        let rows = try tool.file("rows.csv", "key,price\nitem 1,7\nnew,8\n")
        let imported = try tool.run("import", tool.store, rows, "--entity", "Item", "--key", "key", "--output", "json")
        #expect(imported["inserted"] as? Int == 1 && imported["updated"] as? Int == 1, "\(imported.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func theOldFileIsDeletedWhenAskedAndStopsAnotherConversion() throws {
        let already = "the store's file is one of \(PageLayout.linked.releases) already\n"
        #expect(try tool.run("upgrade", tool.store, "--delete-old").output == "there is no data.mdb.before\n")
        #expect(try tool.run("upgrade", tool.store).status == 0)
        #expect(try tool.run("upgrade", tool.store).output == already)
        // The store becomes one of the other LMDB again.
        try FileManager.default.removeItem(atPath: dataFile)
        try FileManager.default.removeItem(atPath: tool.store + "/lock.mdb")
        let other = tool.folder.path + "/other"
        try OtherLMDBStore.write(to: other)
        try FileManager.default.moveItem(atPath: other + "/data.mdb", toPath: dataFile)
        let refused = try tool.run("upgrade", tool.store)
        #expect(refused.status == 1)
        #expect(
            refused.error.contains(
                "data.mdb.before, the file from before an earlier upgrade, must be deleted first; `fetchindex upgrade ")
        )
        #expect(try tool.run("upgrade", tool.store, "--delete-old").output.hasPrefix("deleted data.mdb.before, "))
        try FileManager.default.copyItem(atPath: dataFile, toPath: tool.store + "/data.mdb.before")
        try FileManager.default.removeItem(atPath: dataFile)
        try FileManager.default.moveItem(atPath: tool.store + "/data.mdb.before", toPath: dataFile)
        #expect(try tool.run("upgrade", tool.store).status == 0)
        #expect(try tool.run("upgrade", tool.store, "--delete-old").output.hasPrefix("deleted data.mdb.before, "))
        #expect(try tool.run("upgrade", tool.store, "--delete-old").output == "there is no data.mdb.before\n")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// LMDB 0.9 knows no page checksums, but FetchIndex compares them in files of LMDB 1.0.
    @Test(.enabled(if: OtherLMDBStore.layout == .version3)) func pageChecksumsOfTheOtherVersionAreCompared() throws {
        try FileManager.default.removeItem(atPath: tool.store)
        try OtherLMDBStore.writeWithChecksums(to: tool.store)
        let whole = try Data(contentsOf: URL(fileURLWithPath: dataFile))
        #expect(try tool.run("info", tool.store).output.contains("with page checksums"))
        #expect(try tool.run("check", tool.store).status == 0)
        let export = try tool.run("export", tool.store, "--entity", "Item").output
        #expect(export.split(separator: "\n").count == 60)

        var damaged = whole
        let text = try #require(whole.range(of: Data("text of 17".utf8)))
        damaged[text.lowerBound] ^= 1
        try damaged.write(to: URL(fileURLWithPath: dataFile))
        let fetch = try tool.run("fetch", tool.store, "--entity", "Item", "--sort", "key")
        #expect(fetch.status == 1 && fetch.error.contains("the checksum of a page is wrong"), "\(fetch.error)")
        let check = try tool.run("check", tool.store)
        #expect(check.status == 1 && check.output.contains("in table \"records\", it has a wrong checksum"))
        #expect(check.output.contains("Item 18"), "\(check.output)")
        let rest = try tool.run("export", tool.store, "--entity", "Item", "--skip-damaged")
        let sound = export.split(separator: "\n").filter { !$0.contains("item 17\"") }
        #expect(rest.output.split(separator: "\n") == sound)
        let upgrade = try tool.run("upgrade", tool.store)
        #expect(upgrade.status == 1)
        #expect(upgrade.error.contains("wrong checksum; nothing was changed"), "\(upgrade.error)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: dataFile)) == damaged)

        try whole.write(to: URL(fileURLWithPath: dataFile))
        #expect(try tool.run("upgrade", tool.store).status == 0)
        #expect(try tool.run("export", tool.store, "--entity", "Item").output == export)
    }

    /// LMDB of any version holds its lock file like this while a process has the store open.
    @Test func anUpgradeIsRefusedWhileAnotherProcessHasTheStoreOpen() throws {
        try Data(count: 512 * 64).write(to: URL(fileURLWithPath: tool.store + "/lock.mdb"))
        let before = try files()
        let lockFile = open(tool.store + "/lock.mdb", O_RDWR)
        var lock = flock()
        (lock.l_type, lock.l_whence, lock.l_len) = (Int16(F_RDLCK), Int16(SEEK_SET), 1)
        try #require(fcntl(lockFile, F_SETLK, &lock) == 0)
        let refused = try tool.run("upgrade", tool.store)
        close(lockFile)
        #expect(refused.status == 1)
        #expect(refused.error.contains("\(getpid())") && refused.error.contains("open"), "\(refused.error)")
        #expect(try files() == before)
        #expect(try tool.run("upgrade", tool.store).status == 0)
    }

    @Test func anUpgradeToTheOtherVersionNeedsAProgramThatUsesIt() throws {
        let before = try files()
        let result = try tool.run("upgrade", tool.store, "--to", OtherLMDBStore.layout == .version1 ? "0.9" : "1.0")
        #expect(result.status == 1)
        #expect(result.error.contains("this program uses \(PageLayout.linked.releases); "))
        #expect(try tool.run("upgrade", tool.store, "--to", "0.8").status == 2)
        #expect(try files() == before)
    }

    /// Pages of the file are damaged, one at a time. If the store is converted, it has the values of the intact store, or
    /// the defects that it had before.
    @Test func damageStopsAnUpgradeOrStaysKnown() throws {
        var generator = SeededGenerator(seed: 8)
        let whole = try Data(contentsOf: URL(fileURLWithPath: dataFile))
        let export = try tool.run("export", tool.store, "--entity", "Item").output
        var (refused, repairable) = (0, 0)
        for page in 0..<whole.count / 4096 where TestSettings.isLong || page % 4 == 0 {
            var damaged = whole
            for offset in 0..<64 { damaged[page * 4096 + offset * 64] ^= .random(in: 1...255, using: &generator) }
            try? FileManager.default.removeItem(atPath: tool.store)
            try FileManager.default.createDirectory(atPath: tool.store, withIntermediateDirectories: true)
            try damaged.write(to: URL(fileURLWithPath: dataFile))
            let defects = try tool.run("check", tool.store, "--output", "json")["defects"] as? [String] ?? []
            let result = try tool.run("upgrade", tool.store, "--output", "json")
            #expect([0, 1].contains(result.status), "page \(page): \(result.status)")
            if result.status == 0, let kept = result["defects"] as? [String], !kept.isEmpty {
                repairable += 1
                #expect(Set(defects).isSuperset(of: kept), "page \(page)")
                #expect(try tool.run("check", tool.store).status == 1, "page \(page)")
            } else if result.status == 0 {
                #expect(try tool.run("export", tool.store, "--entity", "Item").output == export, "page \(page)")
            } else {
                refused += 1
                #expect(try Data(contentsOf: URL(fileURLWithPath: dataFile)) == damaged, "page \(page)")
                #expect(!FileManager.default.fileExists(atPath: tool.store + "/data.mdb.making"))
            }
        }
        #expect(refused > 5 && repairable > 0)
    }

    @Test func aKilledUpgradeLeavesTheOldStoreOrTheNewOne() throws {
        var generator = SeededGenerator(seed: max(1, TestSettings.seed))
        let export = try tool.run("export", tool.store, "--entity", "Item").output
        var converted = 0
        let kills = TestSettings.kills ?? 25
        for kill in 0..<kills {
            try? FileManager.default.removeItem(atPath: tool.store)
            try OtherLMDBStore.write(to: tool.store)
            let process = tool.process(["upgrade", tool.store])
            (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            try process.run()
            usleep(.random(in: 0...60_000, using: &generator))
            Foundation.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            if try tool.run("info", tool.store).output.contains("file of \(PageLayout.linked.releases) ") {
                converted += 1
            }
            #expect(try tool.run("check", tool.store).status == 0, "kill \(kill)")
            #expect(try tool.run("export", tool.store, "--entity", "Item").output == export, "kill \(kill)")
            #expect(try tool.run("upgrade", tool.store).status == 0, "kill \(kill)")
            #expect(try tool.run("check", tool.store).output == "the store is whole\n", "kill \(kill)")
        }
        print("\(converted) of \(kills) killed upgrades had ended")
    }
}
