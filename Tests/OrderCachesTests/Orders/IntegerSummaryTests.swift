import FetchIndexCountedTree
import Foundation
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexOrderCaches

/// Aggregates of integers, compared with 128-bit arithmetic. Some of them take a fast path, the rest a general one.
@Suite struct IntegerSummaryTests {
    private static let forms = [(true, false), (false, true), (true, true), (false, false)].map {
        SummaryForm(.integer, keepsSum: $0, keepsExtremes: $1)
    }

    private static let edges: [Int64] = [
        .min, .min + 1, -(1 << 53) - 1, -(1 << 32), -1, 0, 1, 1 << 32, (1 << 53) - 1, 1 << 53, .max,
    ]

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func aggregatesAgreeWith128BitArithmetic(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let columns = AggregateColumns(Self.forms.map { .init(["number"], $0) })
        for _ in 0..<100 {
            let shift = Int64.random(in: 0..<64, using: &generator)
            let numbers = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                Int.random(in: 0..<3, using: &generator) == 0
                    ? Self.edges.randomElement(using: &generator)!
                    : Int64.random(in: .min...(.max), using: &generator) >> shift
            }
            let summary = try summary(of: numbers, columns)
            for (index, form) in Self.forms.enumerated() {
                for (result, expected) in expectations(of: numbers, form) {
                    let found = try columns.value(result, at: index, of: [1, 2] + summary, from: 2)
                    #expect(found == expected, "seed \(seed): \(result) of \(numbers), \(form)")
                }
            }
        }
    }

    private func summary(of numbers: [Int64], _ columns: AggregateColumns) throws -> [UInt8] {
        let sum = columns.begin()
        for number in numbers {
            var key: [UInt8] = []
            OrderKey.append(.integer(number), to: &key)
            var row: [UInt8] = []
            for form in Self.forms { SummaryColumn.append(key.span.bytes, form, to: &row) }
            try sum.add(row.span.bytes)
        }
        return sum.take()
    }

    /// `value` doesn't check bytes that it doesn't read, and reads no bytes past the end.
    @Test func aTruncatedSummaryFailsItsCheckAndIsNotReadPastItsEnd() throws {
        let columns = AggregateColumns([.init(["number"], Self.forms[2])])
        for numbers in [[1, 2], [5, 1 << 40], [-7, -9, .min]] as [[Int64]] {
            let sum = columns.begin()
            for number in numbers {
                var (key, row) = ([] as [UInt8], [] as [UInt8])
                OrderKey.append(.integer(number), to: &key)
                SummaryColumn.append(key.span.bytes, Self.forms[2], to: &row)
                try sum.add(row.span.bytes)
            }
            let summary = sum.take()
            for end in summary.indices {
                let cut = Array(summary[..<end])
                #expect(throws: (any Error).self) { try columns.prove(cut) }
                for (result, expected) in expectations(of: numbers, Self.forms[2]) {
                    let found = try? columns.value(result, at: 0, of: cut)
                    #expect(found == nil || found == expected, "\(result) of \(cut)")
                }
                #expect((try? columns.value(.maximum, at: 0, of: cut)) == nil)
            }
        }
    }

    private func expectations(of numbers: [Int64], _ form: SummaryForm) -> [(AggregateColumns.Result, Value)] {
        var expected: [(AggregateColumns.Result, Value)] = [(.count, .integer(Int64(numbers.count)))]
        if form.keepsExtremes {
            expected.append((.minimum, numbers.min().map { .integer($0) } ?? .null))
            expected.append((.maximum, numbers.max().map { .integer($0) } ?? .null))
        }
        if form.keepsSum {
            let sum = numbers.reduce(Int128(0)) { $0 + Int128($1) }
            let total = Int64(exactly: sum).map { Value.integer($0) } ?? .decimal(Decimal(string: "\(sum)")!)
            expected.append((.total, total))
            // The sum and the count must be exact as doubles: otherwise the expected quotient would be rounded twice.
            if sum.magnitude <= 1 << 53 {
                let average = numbers.isEmpty ? Value.null : .double(Double(sum) / Double(numbers.count))
                expected.append((.average, average))
            }
        }
        return expected
    }
}
