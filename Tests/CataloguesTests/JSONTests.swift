import FetchIndexCatalogues
import Foundation
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Lines of JSON, valid and invalid.
@Suite struct JSONTests {
    private static let prefix = "it is not a JSON object of numbers, texts, booleans and nulls: at byte "

    private func scalar(_ text: String) -> JSONScalar? {
        let bytes = Array("{\"op\":\"insert\",\"values\":{\"a\":\(text)}}".utf8)
        return bytes.withUnsafeBytes { try? ChangeLine($0, 1, in: "f") }?.values["a"]
    }

    @Test(arguments: [
        ("nonsense", "1 there is no object"), ("[1]", "1 there is no object"), ("{\"a\":1", "7 there is the end"),
        ("{\"a\":1} x", "9 there is something after the object"),
        ("{\"a\":1}{\"a\":2}", "8 there is something after the object"),
        ("{\"a\":[1]}", "6 there is a list or an object"), ("{\"a\":{}}", "6 there is a list or an object"),
        ("{\"a\":1,\"a\":2}", "8 there is a second member \"a\""), ("{a:1}", "2 there is no member's name"),
        ("{\"a\" 1}", "6 there is no colon"), ("{\"a\":1,}", "8 there is no member's name"),
        ("{\"a\":1 \"b\":2}", "8 there is neither a comma nor the object's end"), ("{\"a\":}", "6 there is no value"),
        ("{\"a\":01}", "6 there is a number that begins with 0"), ("{\"a\":-}", "7 there is no digit"),
        ("{\"a\":1.}", "8 there is no digit"), ("{\"a\":1e}", "8 there is no digit"),
        ("{\"a\":+1}", "6 there is no value"),
        ("{\"a\":.5}", "6 there is no value"), ("{\"a\":NaN}", "6 there is no value"),
        ("{\"a\":nul}", "6 there is no value"),
        ("{\"a\":1e999}", "6 there is a number that is too large"),
        ("{\"a\":\"\\ud800\"}", "7 there is an unpaired surrogate"),
        ("{\"a\":\"\\udc00\"}", "7 there is an unpaired surrogate"),
        ("{\"a\":\"\\ud800\\u0041\"}", "7 there is an unpaired surrogate"),
        ("{\"a\":\"\\ud800\\n\"}", "7 there is an unpaired surrogate"),
        ("{\"a\":\"\\x\"}", "7 there is an escape sequence that JSON does not have"),
        ("{\"a\":\"\\u12g4\"}", "11 there is no hexadecimal digit"),
        ("{\"a\":\"\t\"}", "7 there is a control character in a text"), ("{\"a\":\"x", "8 there is the end"),
        ("{\"a\":\"\\", "8 there is the end"), ("{\"a\":t", "6 there is no value"), ("{", "2 there is the end"),
    ]) func anInvalidObjectIsReportedWithLineAndByte(line: String, expected: String) {
        let reading = Reading(.jsonl, "{\"a\":1}\n\(line)\n{\"a\":2}")
        #expect(reading.rows == [["1"], ["2"]])
        #expect(reading.bad == ["f, line 2: \(Self.prefix)\(expected)"])
    }

    @Test func invalidUTF8IsReportedWithLineAndByte() {
        let bytes = Array("{\"a\":\"影".utf8) + [0xE5, 0xBD, 0x22, 0x7D, 0x0A] + Array("{\"a\":1}".utf8)
        #expect(Reading(.jsonl, bytes).bad == ["f, line 1: \(Self.prefix)10 there is text that is not UTF-8"])
    }

    @Test func aDeeplyNestedJSONValueIsAnError() {
        for opening in ["[", "{\"a\":"] {
            let deep = String(repeating: opening, count: 1_000_000)
            #expect(
                Reading(.jsonl, "{\"a\":1}\n{\"a\":\(deep)").bad.first?.hasSuffix("6 there is a list or an object")
                    == true)
            let change = Array("{\"op\":\"insert\",\"values\":{\"a\":\(deep)".utf8)
            #expect(throws: BadInput.self) { try change.withUnsafeBytes { _ = try ChangeLine($0, 1, in: "f") } }
        }
    }

    @Test func parsedJSONNumbersKeepTheirDigits() {
        let digits = String(repeating: "9", count: 300)
        #expect(scalar("1.0") == .number("1.0"))
        #expect(scalar("-2.50e1") == .number("-2.50e1"))
        #expect(scalar("1.50") == .number("1.50"))
        #expect(scalar("-0")?.value(as: .integer) == 0)
        #expect(scalar("-0")?.value(as: .double) == .double(-0.0))
        #expect(scalar("-0.0")?.value(as: .double) == .double(-0.0))
        #expect(scalar("1.5")?.value(as: .integer) == nil)
        #expect(scalar("9223372036854775807")?.value(as: .integer) == .integer(.max))
        #expect(scalar("9223372036854775808")?.value(as: .integer) == nil)
        #expect(scalar("12345678901234567890.12")?.value(as: .decimal)?.description == "12345678901234567890.12")
        #expect(scalar(digits)?.value(as: .integer) == nil)
        #expect(scalar(digits) == .number(digits))
        #expect(scalar(String(repeating: "9", count: 400)) == nil)
        #expect(scalar("-1e309") == nil)
        #expect(scalar("1e-999")?.value(as: .double) == nil)
        #expect(scalar("5")?.value(as: .string) == nil)
        #expect(scalar("true")?.value(as: .integer) == nil)
    }

    @Test(
        arguments: [
            ("100.0000000000000000000000001", nil), ("0.99999999999999999999", nil), ("-0.99999999999999999999", nil),
            ("1e-1", nil), ("15e-1", nil), ("1e19", nil), ("9223372036854775808.0", nil), ("-0.0", nil), ("-0e9", nil),
            ("1e-9223372036854775808", nil), ("1.5e0", nil), ("0.0", 0), ("0e99999999999999999999", 0), ("0e-5", 0),
            ("1e3", 1000), ("1.0", 1), ("-2.50E+1", -25), ("100e-2", 1), ("0.0012e4", 12), ("1000.000e-003", 1),
            ("9007199254740993.0", 9_007_199_254_740_993), ("9223372036854775807.0", .max),
            ("-922337203685477580.8e1", .min), ("1e18", 1_000_000_000_000_000_000),
        ] as [(String, Int64?)]) func aNumberIsReadAsAnIntegerOnlyIfItsDigitsMakeOneExactly(
            digits: String, whole: Int64?
        )
    {
        #expect(scalar(digits) == .number(digits))
        #expect(scalar(digits)?.value(as: .integer) == whole.map { .integer($0) })
        if let double = scalar(digits)?.value(as: .double) { #expect(double == Double(digits).map { .double($0) }) }
    }

    @Test func digitsThatADoubleWouldRoundAreKept() throws {
        let digits = "100.0000000000000000000000001"
        #expect(scalar(digits)?.value(as: .decimal)?.description == digits)
        let line = "{\"a\":\(digits),\"b\":0.99999999999999999999}"
        #expect(Reading(.jsonl, line).rows == [[digits, "0.99999999999999999999"]])
        #expect(
            try JSONLinesSource(CatalogueInput("f", bytes: Array(line.utf8))).types == ["a": .decimal, "b": .decimal])
    }

    @Test func jsonStringsAreReadAsSpecialNumbersAndDates() {
        for (text, number) in [("inf", Double.infinity), ("-inf", -.infinity), ("1e3", 1000)] {
            #expect(scalar("\"\(text)\"")?.value(as: .double) == .double(number))
        }
        #expect(scalar("\"nan\"")?.value(as: .double)?.catalogueText == "nan")
        let date = "1e+17 seconds after 2001"
        #expect(scalar("\"\(date)\"")?.value(as: .date)?.catalogueText == date)
        #expect(scalar("\"inf\"")?.value(as: .decimal) == nil)
        #expect(scalar("\"inf\"")?.value(as: .string) == .string("inf"))
    }

    @Test(arguments: [
        (["null", "1"], ValueType.integer), (["1", "null"], .integer), (["null", "1.5", "2"], .double),
        (["null", "true"], .boolean), (["null", "\"x\""], .string), (["null", "1", "true"], .string),
        (["null", "null"], .string), (["\"x\"", "null", "1"], .string),
    ]) func typesAreInferredFromValuesThatAreNotNull(values: [String], type: ValueType) throws {
        let lines = values.map { "{\"a\":\($0)}\n" }.joined() + "{}\n"
        #expect(try JSONLinesSource(CatalogueInput("f", bytes: Array(lines.utf8))).types == ["a": type])
    }

    @Test func blankLinesOfJSONFilesAreSkipped() {
        let reading = Reading(.jsonl, " \n{\"a\":1}\n\t \r\n\n{\"a\":2}\n  ")
        #expect(reading.rows == [["1"], ["2"]])
        #expect(reading.lines == [2, 5])
        #expect(reading.bad.isEmpty)
        #expect(reading.error == nil)
        #expect(Reading(.jsonl, " \n\t").error == "f has no objects with members")
    }

    @Test func aFileWithoutAValidLineReportsItsFirstFault() {
        #expect(Reading(.jsonl, "{\"a\":[1]}").error == "f, line 1: \(Self.prefix)6 there is a list or an object")
        #expect(Reading(.jsonl, "\n{\"a\":}\n[]\n").error == "f, line 2: \(Self.prefix)6 there is no value")
        let long = Reading(.jsonl, "{\"a\":\"xxxxxxxx\"}\n[]\n", longestLine: 10)
        #expect(long.error == "f, line 1: the line is longer than 10 bytes")
    }

    @Test func digitsThatNeitherIntegersNorDoublesKeepAreInferredAsDecimals() {
        let digits = "12345678901234567890"
        let source = try? JSONLinesSource(
            CatalogueInput("f", bytes: Array("{\"a\":\(digits),\"b\":1.5,\"c\":1,\"d\":null}".utf8)))
        #expect(source?.types == ["a": .decimal, "b": .double, "c": .integer, "d": .string])
        var inference = TypeInference(columns: 2)
        inference.note(digits, in: 0)
        inference.note("1.5e300", in: 1)
        #expect(inference.types == [.decimal, .double])
    }

    @Test func jsonEscapesAndBlanksAreAccepted() {
        #expect(
            scalar("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u5f71\\ud83d\\ude00\"") == .string("\"\\/\u{8}\u{C}\n\r\tA影😀"))
        #expect(Reading(.jsonl, " {\t\"a\" : 1 , \"b\" : \"\" }  \n").rows == [["1", ""]])
        #expect(Reading(.jsonl, "{}\n{\"a\":true}\n").rows == [[""], ["true"]])
    }

    @Test(arguments: [
        ("{\"op\":\"insert\"", "at byte 15 there is the end"), ("{}", "it has no \"op\""),
        ("{\"op\":1}", "at byte 7 there is no text"),
        ("{\"op\":\"replace\"}", "\"op\" is \"replace\", not insert, update, upsert or delete"),
        ("{\"op\":\"delete\",\"op\":\"insert\"}", "at byte 16 there is a second member \"op\""),
        ("{\"op\":\"insert\",\"values\":[1]}", "at byte 25 there is no object"),
        ("{\"op\":\"insert\",\"values\":{\"a\":{}}}", "at byte 30 there is a list or an object"),
        ("{\"op\":\"insert\",\"values\":{\"a\":1,\"a\":1}}", "a second member \"a\""),
        ("{\"op\":\"insert\",\"key\":{}}", "a list or an object"),
        ("{\"op\":\"insert\",\"Key\":1}", "\"Key\" is not op, key or values"),
    ]) func anInvalidChangeIsReportedWithItsLine(line: String, expected: String) throws {
        let bytes = Array(line.utf8)
        let error = #expect(throws: BadInput.self) { try bytes.withUnsafeBytes { _ = try ChangeLine($0, 7, in: "f") } }
        #expect(error?.line == 7, "\(String(describing: error))")
        #expect(error?.reason.contains(expected) == true, "\(String(describing: error))")
    }

    @Test func nullKeysAndValuesCountAsMissing() throws {
        let bytes = Array("{\"values\":null,\"key\":null,\"op\":\"delete\"}".utf8)
        let change = try bytes.withUnsafeBytes { try ChangeLine($0, 1, in: "f") }
        #expect(change.operation == .delete)
        #expect(change.key == nil)
        #expect(change.values.isEmpty)
    }

    /// Foundation parses each random line that this parser accepts. This parser accepts each line that Foundation
    /// accepts, unless it has a nested value or a second member of a name.
    @Test func parsedJSONObjectsAgreeWithFoundation() throws {
        var generator = SeededGenerator(seed: 42)
        let parts = [
            "{", "}", ",", ":", "\"a\"", "\"b\"", "\"\\u00e9\"", "\"影\"", "1", "-0", "1.5", "1e3", "true", "null", " ",
            "\"\\ud83d\\ude00\"", "[", "]", "0", "\\", "\"",
        ]
        var accepted = 0
        for trial in 0..<6000 {
            var text = ""
            if Bool.random(using: &generator) {
                for _ in 0..<Int.random(in: 0..<12, using: &generator) {
                    text += parts.randomElement(using: &generator) ?? ""
                }
            } else {
                let members = (0..<Int.random(in: 0..<4, using: &generator)).map { number in
                    "\"\(number)\" :\(parts[8...15].randomElement(using: &generator) ?? "")"
                }
                text = "{\(members.joined(separator: ","))}"
            }
            // The first line is valid, so that the file can be opened. A line that is refused only for an unknown
            // member was parsed.
            let reading = Reading(.jsonl, "{\"a\":1}\n\(text)\n")
            let isRead = reading.bad.isEmpty || reading.bad[0].contains("is not among")
            let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            if text.contains(where: { $0 != " " }) && isRead {
                accepted += 1
                #expect(object != nil, "trial \(trial): \(text)")
            } else if let object, object.values.allSatisfy({ !($0 is [Any]) && !($0 is [String: Any]) }) {
                #expect(
                    reading.bad.first?.contains("a second member") == true, "trial \(trial): \(text) \(reading.bad)")
            }
        }
        #expect(accepted > 1000)
    }
}
