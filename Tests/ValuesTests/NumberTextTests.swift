import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

/// Numbers as texts: their forms, and the types that keep all their digits.
@Suite struct NumberTextTests {
    private func number<Result>(_ text: String, _ body: (NumberText) -> Result) -> Result? {
        var text = text
        return text.withUTF8 { NumberText(UnsafeRawBufferPointer($0)).map(body) }
    }

    private func plain(_ text: String) -> String? {
        number(text) {
            var bytes: [UInt8] = []
            $0.appendPlain(to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// A text that `Decimal` represents exactly is printed like Foundation's `Decimal`, which is the oracle.
    @Test(arguments: 1...5) func exactDecimalsPrintAsFoundationPrintsThem(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var digits = (0..<Int.random(in: 1...38, using: &generator)).map { _ in
                "\(Int.random(in: 0...9, using: &generator))"
            }
            if Bool.random(using: &generator) {
                digits.insert(".", at: Int.random(in: 0...digits.count, using: &generator))
            }
            var text = (Bool.random(using: &generator) ? "-" : "") + digits.joined()
            if Bool.random(using: &generator) { text += "e\(Int.random(in: -80...80, using: &generator))" }
            guard number(text, \.isDecimal) ?? false else { continue }
            let description = Decimal(string: text)?.description
            #expect(plain(text) == (description == "-0" ? "0" : description), "seed \(seed): \(text)")
        }
        #expect(plain("9" + String(repeating: "0", count: 127)) == "9" + String(repeating: "0", count: 127))
        #expect(number("1e-128", \.isDecimal) == false && number("1e200", \.isDecimal) == false)
    }

    @Test(arguments: 1...5) func textsThatDoublesPrintAreDoublesAndFiveOthersAreNot(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let value = Double(bitPattern: .random(in: .min ... .max, using: &generator))
            guard value.isFinite else { continue }
            #expect(number(value.description, \.isDouble) == true, "seed \(seed): \(value)")
            let printed = String(format: "%.17g", value)
            #expect(number(printed, \.isDouble) == true, "seed \(seed): \(printed)")
        }
        for text in ["0.1234567890123456789", "9007199254740993", "1e-400", "1e400", "123456789012345678"] {
            #expect(number(text, \.isDouble) == false, "\(text)")
        }
    }

    @Test(arguments: [
        ("42", true), ("-42", true), ("0", true), ("0.5", true), ("1.50", true), ("1.5e300", true), ("1e-5", true),
        ("1e+5", true), ("+5", false), ("007", false), ("-01.5", false), (".5", false), ("5.", false), ("12E4", false),
        ("-0", true),
    ]) func plainNotationHasNoLeadingPlusAndNoNeedlessLeadingZeros(text: String, isPlain: Bool) {
        #expect(number(text, \.isPlain) == isPlain)
    }

    @Test(arguments: [
        "", "-", ".", "1e", "1e+", "1.2.3", "1x", " 1", "1 ", "0x10", "--5", "1e5.5", "é", "1_000",
    ]) func malformedNumbersAreRefused(text: String) {
        #expect(number(text) { _ in true } == nil)
    }

    @Test(arguments: [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
        ("1.50e1", 15),
        ("1.5", nil), ("0", 0), ("-0.00", 0), ("10e17", 1_000_000_000_000_000_000), ("10e18", nil), ("1e1000000", nil),
    ]) func wholeNumbersOf64BitsAreIntegers(text: String, expected: Int64?) {
        #expect(number(text, \.integer) == .some(expected))
    }
}
