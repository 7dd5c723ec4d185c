import FetchIndexTestSupport
import Foundation
import Testing

/// `Scripts/nightly`, the job of the page "A nightly job, from file to mail", over some nights.
@Suite struct NightlyTests {
    let tool: Tool
    private var out: String { tool.folder.path + "/out" }

    init() throws { tool = try Tool() }

    private func night(_ rows: String) throws -> (status: Int32, error: String) {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = try tool.file("books.csv", "isbn,title,publisher,price\n" + rows)
        let rules = try tool.file(
            "rules.json", #"["deleted at most 50 %", "no section of by publisher disappears"]"#)
        let process = Process()
        process.executableURL = root.appendingPathComponent("Scripts/nightly")
        process.arguments = [tool.store, file, out]
        process.environment = ProcessInfo.processInfo.environment.merging(
            [
                "FETCHINDEX": Tool.executable.path, "ENTITY": "Book", "KEY": "isbn", "SECTION": "publisher",
                "SORT": "title", "RULES": rules,
            ]
        ) { $1 }
        let errors = tool.folder.path + "/errors"
        try Data().write(to: URL(fileURLWithPath: errors))
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try String(contentsOfFile: errors, encoding: .utf8))
    }

    /// An output of the nights; nil if they left none of that name.
    private func left(_ name: String) -> String? { try? String(contentsOfFile: out + "/" + name, encoding: .utf8) }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: out).filter { $0 != "lock" && $0 != "metrics.prom" }
            .sorted()
    }

    @Test func aWeekOfNights() throws {
        let first = "1,A,x,100\n2,B,x,200\n3,C,y,300\n4,D,y,400\n"
        #expect(try night(first).status == 0)
        // The search index gets all rows; no reader had a look before.
        #expect(try names() == ["index-1.jsonl"])
        #expect(left("index-1.jsonl")?.split(separator: "\n").count == 4)

        // A price changes, a book comes and one goes.
        let second = try night("1,A,x,150\n2,B,x,200\n3,C,y,300\n5,E,y,500\n")
        #expect(second.status == 0, "\(second.error)")
        #expect(left("preview.txt")?.contains("4 rows: 1 inserted, 1 deleted, 1 updated") == true)
        let mail = try #require(left("mail-2.html"))
        #expect(mail.contains("price: <del>100</del> → <ins>150</ins>") && mail.contains("1 inserted"), "\(mail)")
        #expect(left("index-2.jsonl")?.split(separator: "\n").count == 3)
        #expect(
            left("delta-2.jsonl")
                == #"{"op":"delete","key":4}"# + "\n" + #"{"op":"update","key":1,"values":{"price":150}}"# + "\n"
                + #"{"op":"insert","key":5,"values":{"isbn":5,"title":"E","publisher":"y","price":500}}"# + "\n")
        #expect(left("metrics.prom")?.contains("fetchindex_commit{") == true)

        // A file that lacks a publisher is refused, and nothing is told to the consumers.
        let before = try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb"))
        let known = try names()
        let bad = try night("1,A,x,150\n2,B,x,200\n")
        #expect(bad.status == 1 && bad.error.contains("gone would be \"y\" with 2 rows"), "\(bad.error)")
        #expect(left("refused.txt")?.contains("nothing was changed") == true)
        #expect(try names() == (known + ["refused.txt"]).sorted())
        #expect(try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb")) == before)
        // One that lacks most rows isn't even previewed.
        let short = try night("1,A,x,150\n")
        #expect(short.status == 1 && left("refused.txt")?.contains("--replace-limit") == true, "\(short.error)")

        // Nothing has changed.
        let quiet = try night("1,A,x,150\n2,B,x,200\n3,C,y,300\n5,E,y,500\n")
        #expect(quiet.status == 0 && quiet.error.contains("nothing has changed for mail"), "\(quiet.error)")
        #expect(try names() == known)

        // A consumer that missed a night gets the changes of both.
        #expect(try tool.run("bookmark", "add", tool.store, "mail", "--at", "1").status == 0)
        #expect(try night("1,A,x,175\n2,B,x,200\n3,C,y,300\n5,E,y,500\n").status == 0)
        #expect(left("mail-3.html")?.contains("<del>100</del> → <ins>175</ins>") == true)
        #expect(left("index-3.jsonl")?.contains(#""new":{"isbn":1,"price":175"#) == true)
    }

    /// A first night that fails begins again the next night.
    @Test func aFirstNightMayFail() throws {
        #expect(try night("1,A,x,100\n2,B,x,200,extra\n").status == 1)
        #expect(try night("1,A,x,100\n2,B,x,200\n").status == 0)
        #expect(left("index-2.jsonl")?.split(separator: "\n").count == 2 || left("index-1.jsonl") != nil)
    }
}
