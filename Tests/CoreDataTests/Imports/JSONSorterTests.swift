import FetchIndexTestSupport
import Foundation
import Testing

@testable import FetchIndexCoreDataFiles

/// SwiftData's JSON with sorted members.
@Suite struct JSONSorterTests {
    @Test(arguments: [
        (
            "[{\"b\": 18446744073709551615, \"a\" : 12345678901234567.125}]",
            "[{\"a\":12345678901234567.125,\"b\":18446744073709551615}]"
        ),
        ("{\"e\u{301}\":1,\"\u{e9}\":2}", "{\"e\u{301}\":1,\"\u{e9}\":2}"),
        (
            " { \"z\" : { \"y\" : [ true , null , -0.5e+10 ] , \"x\" : \"\\u00e9\\n\" } } ",
            "{\"z\":{\"x\":\"\\u00e9\\n\",\"y\":[true,null,-0.5e+10]}}"
        ),
        ("[]", "[]"), ("{}", "{}"), ("\"a\"", "\"a\""),
    ])
    func membersAreSortedAndValuesKept(json: String, sorted: String) {
        #expect(JSONSorter.sorted(Array(json.utf8)).map { String(decoding: $0, as: UTF8.self) } == sorted)
    }

    @Test(arguments: [
        "", "{", "[1,]", "[01]", "{\"a\":}", "{a:1}", "\"\\x\"", "\"\n\"", "1 2", "[1", "-", "1.", "1e", "\"\\u12\"",
        "nul",
    ])
    func whatIsNotJSONIsLeft(text: String) { #expect(JSONSorter.sorted(Array(text.utf8)) == nil) }

    @Test func whatFoundationEncodesIsSorted() throws {
        var generator = SeededGenerator(seed: 7)
        func value(_ level: Int) -> Any {
            switch Int.random(in: 0...(level > 3 ? 3 : 5), using: &generator) {
            case 0: return Int.random(in: -1000...1000, using: &generator)
            case 1: return Double.random(in: -1...1, using: &generator)
            case 2: return "t\"\\\u{1F600}\n\(level)"
            case 3: return Bool.random(using: &generator)
            case 4: return (0..<3).map { _ in value(level + 1) }
            default: return Dictionary(uniqueKeysWithValues: (0..<4).map { ("k\($0 * 7 % 5)", value(level + 1)) })
            }
        }
        for _ in 0..<200 {
            let original = [value(0)]
            let sorted = try JSONSerialization.data(
                withJSONObject: original, options: [.sortedKeys, .withoutEscapingSlashes])
            let other = try JSONSerialization.data(
                withJSONObject: original, options: [.prettyPrinted, .withoutEscapingSlashes])
            #expect(JSONSorter.sorted(Array(other)) == Array(sorted))
        }
    }
}
