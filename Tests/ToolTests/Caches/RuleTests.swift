import FetchIndexInspection
import FetchIndexTestSupport
import Foundation
import Testing

/// Rules refuse a batch as a whole, and say why.
@Suite struct RuleTests {
    let tool: Tool

    /// Twenty items: seven of kinds 0 and 1, and six of kind 2.
    init() throws {
        tool = try Tool()
        let file = try tool.file("rows.csv", "code,kind,size\n" + (0..<20).map { "\($0),\($0 % 3),\($0)\n" }.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
        #expect(
            try tool.run(
                "fetch", tool.store, "--sort", "size", "--section", "kind", "--aggregate", "sum(size)", "--cache",
                "by kind"
            ).status == 0)
    }

    private func apply(_ changes: String, _ rules: [String], _ options: String...) throws -> Tool.Result {
        let file = try tool.file("changes.jsonl", changes)
        return try tool.run(
            ["apply", tool.store, file, "--key", "code"] + rules.flatMap { ["--rule", $0] } + options)
    }

    private static func deletions(_ codes: [Int]) -> String {
        codes.map { "{\"op\":\"delete\",\"key\":\($0)}\n" }.joined()
    }

    /// The deletion of items 0, 3 and 6, whose kind is 0: 20 rows become 17, 7 of the kind become 4, and the sum 190
    /// becomes 181.
    static let broken = [
        ("deleted at most 2", "3 of 20 objects would be deleted"),
        ("deleted at most 14 %", "3 of 20 objects would be deleted"),
        ("rows(by kind) changes by at most 2", "20 rows would become 17, 15.0 % less"),
        ("rows(by kind) loses at most 14.9%", "20 rows would become 17, 15.0 % less"),
        ("sum(size) in by kind changes by at most 8", "190 would become 181, 4.737 % less"),
        ("sum(size) in by kind shrinks by at most 4.7 %", "190 would become 181, 4.737 % less"),
        ("each section of by kind loses at most 40 %", "\"0\": 7 rows would become 4, 42.857 % less"),
    ]

    @Test(arguments: broken) func aBrokenRuleRefusesTheBatch(rule: String, reason: String) throws {
        for option in ["--dry-run", "--output=json"] {
            let result = try apply(Self.deletions([0, 3, 6]), [rule], option)
            #expect(result.status == 1)
            #expect(
                result.error.contains("the rule \"\(rule)\" is broken: \(reason)\n")
                    && result.error.hasSuffix("a rule is broken; nothing was changed\n"), "\(result.error)")
        }
        #expect(try tool.run("fetch", tool.store, "--count").output.contains("20"))
    }

    @Test(arguments: [
        "deleted at most 3", "deleted at most 15 %", "inserted at most 0", "rows(by kind) changes by at most 3",
        "rows(by kind) gains at most 0", "sum(size) in by kind shrinks by at most 4.74 %",
        "sum(size) in by kind grows by at most 0", "each section of by kind loses at most 3",
        "no section of by kind disappears",
    ]) func aRuleThatHoldsRefusesNothing(rule: String) throws {
        let result = try apply(Self.deletions([0, 3, 6]), [rule])
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output == "1 transaction: 0 inserted, 0 updated, 0 unchanged, 3 deleted\n")
    }

    @Test func allTransactionsOfAFileAreRefusedTogether() throws {
        let changes = Self.deletions([0]) + "\n" + Self.deletions([1])
        #expect(try apply(changes, ["deleted at most 1"]).status == 1)
        #expect(try tool.run("fetch", tool.store, "--count").output.contains("20"))
        #expect(try apply(changes, ["deleted at most 2"], "--cache", "by kind").status == 0)
        #expect(try tool.run("fetch", tool.store, "--count").output.contains("18"))
    }

    @Test func aSectionMustNotDisappear() throws {
        let result = try apply(
            Self.deletions([2, 5, 8, 11, 14, 17]), ["no section of by kind disappears", "updated at most 0"])
        #expect(result.status == 1)
        #expect(result.error.contains("gone would be \"2\" with 6 rows\n"), "\(result.error)")
    }

    @Test func anImportIsRefused() throws {
        let file = try tool.file("few.csv", "code,kind,size\n1,1,1\n2,2,2\n")
        let rules = try tool.file("rules.json", #"["deleted at most 1,000", "rows(by kind) loses at most 50 %"]"#)
        let arguments = ["import", tool.store, file, "--entity", "Item", "--key", "code", "--replace"]
        let result = try tool.run(arguments + ["--replace-limit", "100", "--rules", rules])
        #expect(result.status == 1 && result.error.contains("20 rows would become 2, 90.0 % less"), "\(result.error)")
        #expect(try tool.run("fetch", tool.store, "--count").output.contains("20"))
        #expect(try tool.run(arguments + ["--replace-limit", "100", "--rule", "inserted at most 0"]).status == 0)
        #expect(try tool.run("fetch", tool.store, "--count").output.contains("2"))
    }

    @Test(arguments: [
        "deletd at most 2", "deleted at most", "deleted at most 1,00", "deleted at most 5 per cent",
        "rows() changes by at most 2", "rows(by kind) changes at most 2", "no section of disappears", "",
        "deleted at most -1", "median(size) in by kind grows by at most 1",
    ]) func aTextThatIsNoRuleIsWrongUsage(rule: String) throws {
        #expect(throws: (any Error).self) { try ChangeRule(parsing: rule) }
        let result = try apply(Self.deletions([0]), [rule])
        #expect(result.status == 2 && result.error.hasPrefix("fetchindex: "), "\(result.error)")
    }

    @Test func aRuleThatCannotBeCheckedIsAnErrorBeforeAnythingIsWritten() throws {
        let unknown = try apply(Self.deletions([0]), ["rows(by knd) loses at most 1"])
        #expect(unknown.error.contains("no cache \"by knd\" in the store; there is \"by kind\""), "\(unknown.error)")
        let unkept = try apply(Self.deletions([0]), ["max(size) in by kind grows by at most 1"])
        #expect(unkept.error.contains("the cache \"by kind\" doesn't keep max(size)"), "\(unkept.error)")
        let missing = try apply(Self.deletions([0]), [], "--rules", tool.folder.path + "/missing.json")
        #expect(missing.status == 1 && missing.error.contains("missing.json cannot be read"), "\(missing.error)")
        let file = try tool.file("rules.json", #"{"deleted": 3}"#)
        let other = try apply(Self.deletions([0]), [], "--rules", file)
        #expect(other.status == 1 && other.error.contains("is not a JSON list of rules"), "\(other.error)")
    }

    @Test func objectsAreCountedAsTheyEnd() throws {
        let changes =
            #"{"op":"insert","key":50,"values":{"kind":1}}"# + "\n" + Self.deletions([50])
            + #"{"op":"update","key":1,"values":{"size":99}}"# + "\n" + #"{"op":"update","key":1,"values":{"size":1}}"#
            + "\n"
        let rules = ["inserted at most 0", "deleted at most 0", "updated at most 0"]
        #expect(try apply(changes, rules).status == 0)
        #expect(try apply(changes + Self.deletions([2]), rules).error.contains("1 of 20 objects would be deleted"))
    }

    /// 0.1 + 0.2 is 0.3 in decimals.
    @Test(arguments: [
        ("sum(m) in c grows by at most 0.2", true), ("sum(m) in c grows by at most 0.19", false),
        ("sum(m) in c grows by at most 200 %", true), ("sum(m) in c grows by at most 199.99 %", false),
        ("max(i) in c grows by at most 0", false), ("max(i) in c grows by at most 1", true),
    ]) func numbersAreComparedExactly(rule: String, holds: Bool) throws {
        let file = try tool.file("m.csv", "k,m,i\n1,0.1,4611686018427387904\n")
        let store = tool.folder.path + "/decimals"
        #expect(
            try tool.run(
                "import", store, file, "--entity", "M", "--key", "k", "--types", "k:integer,m:decimal,i:integer"
            ).status == 0)
        #expect(try tool.run("fetch", store, "--aggregate", "sum(m),max(i)", "--cache", "c").status == 0)
        let changes = try tool.file(
            "m.jsonl", #"{"op":"update","key":1,"values":{"m":"0.3","i":4611686018427387905}}"# + "\n")
        let result = try tool.run("apply", store, changes, "--rule", rule)
        #expect(result.status == (holds ? 0 : 1), "\(result.error)")
    }

    @Test func aRefusedImportLeavesNoEntity() throws {
        let file = try tool.file("new.csv", "code,x\n1,1\n2,2\n")
        let import_ = ["import", tool.store, file, "--entity", "New", "--key", "code", "--rule", "inserted at most 1"]
        #expect(try tool.run(import_).status == 1)
        #expect(try !tool.run("model", "show", tool.store).output.contains("New"))
        #expect(try tool.run(import_ + ["--add-columns"]).status == 1)
        #expect(try !tool.run("model", "show", tool.store).output.contains("New"))
        let unsectioned = try tool.run("fetch", tool.store, "--sort", "size", "--cache", "flat")
        #expect(unsectioned.status == 0)
        let rule = try apply(Self.deletions([0]), ["no section of flat disappears"])
        #expect(rule.status == 1 && rule.error.contains("the cache \"flat\" has no sections"), "\(rule.error)")
        let missing = try apply(Self.deletions([0]), ["deleted at most 9"], "--cache", "none", "--sort", "size")
        #expect(missing.status == 2 && missing.error.contains("no cache \"none\""), "\(missing.error)")
    }
}
