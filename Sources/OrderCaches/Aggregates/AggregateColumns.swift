internal import Bytes
package import CountedTree
internal import SystemBasics
package import Values

/// The attributes whose values an order sums up.
package struct AggregateColumns: Equatable, Sendable {
    package struct Column: Equatable, Sendable {
        /// The attribute's name; "" where the columns were read from a cache's layout.
        package let attribute: String
        package let type: ValueType
        package let keepsSum: Bool
        /// The least and the greatest value.
        package let keepsExtremes: Bool

        package init(attribute: String, type: ValueType, keepsSum: Bool, keepsExtremes: Bool) {
            self.attribute = attribute
            self.type = type
            self.keepsSum = keepsSum
            self.keepsExtremes = keepsExtremes
        }

        /// Else only non-null values are counted.
        package var keepsValues: Bool { keepsSum || keepsExtremes }

        var sumBase: ExactSum.Base { type == .decimal ? .decimal : .binary }
        /// The most bytes that the column takes in a summary.
        var maximumLength: Int {
            let value = type == .decimal ? Self.longestDecimal : 9
            return 9 + (keepsSum ? ExactSum.maximumLength(sumBase) : 0) + (keepsExtremes ? 2 * value : 0)
        }

        /// A decimal of 38 digits as an `OrderKey`.
        private static let longestDecimal = 43
    }

    package let columns: [Column]

    package init(_ columns: [Column] = []) { self.columns = columns }

    package static let none = AggregateColumns()
    package var isEmpty: Bool { columns.isEmpty }

    /// The most bytes that a summary may take, so that two cells fit into a node.
    package static let maximumLength = 1500
    /// The bytes that a summary of these columns may take, at worst.
    package var length: Int { columns.reduce(0) { $0 + $1.maximumLength } }

    /// The columns of a summary, one by one. Throws when it is malformed.
    package func columns(of summary: [UInt8]) throws -> [ColumnSummary] {
        let rows = RowSummary(of: self)
        try rows.add(summary.span.bytes)
        return rows.sums
    }

    /// Nil without columns.
    var summarizer: (any Summarizer)? { isEmpty ? nil : self }

    // MARK: Layout

    /// What summaries hold, as a text without blanks: "integer+sum+extremes,string".
    package var layout: String {
        columns.map { "\($0.type.name)\($0.keepsSum ? "+sum" : "")\($0.keepsExtremes ? "+extremes" : "")" }
            .joined(separator: ",")
    }

    /// Nil for a text that is no layout. The columns have no names.
    init?(layout: some StringProtocol) {
        var columns: [Column] = []
        for text in layout.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = text.split(separator: "+", omittingEmptySubsequences: false)
            guard let type = parts.first.flatMap({ ValueType(name: String($0)) }),
                parts.dropFirst().allSatisfy({ $0 == "sum" || $0 == "extremes" })
            else { return nil }
            columns.append(
                Column(
                    attribute: "", type: type, keepsSum: parts.contains("sum"),
                    keepsExtremes: parts.contains("extremes")))
        }
        self.init(columns)
    }
}

extension AggregateColumns: Summarizer {
    package func begin() -> any RunningSummary { RowSummary(of: self) }
}

/// The columns of some rows, added up.
final class RowSummary: RunningSummary {
    private(set) var sums: [ColumnSummary]

    init(of columns: AggregateColumns) { sums = columns.columns.map { ColumnSummary($0) } }

    func add(_ summary: RawSpan) throws {
        // One access for all columns: this is done for each row of a build.
        let end = sums.withUnsafeMutableBufferPointer { sums in
            var end: Int? = 0
            for index in sums.indices { end = end.flatMap { sums[index].add(summary, at: $0) } }
            return end
        }
        guard end == summary.byteCount else { throw SectionedOrder.corrupted("a summary of rows is malformed") }
    }

    func take() -> [UInt8] {
        var bytes: [UInt8] = []
        for index in sums.indices {
            sums[index].append(to: &bytes)
            sums[index].removeAll()
        }
        return bytes
    }
}
