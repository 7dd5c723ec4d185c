package import FetchIndexCountedTree
package import FetchIndexPlatform
package import FetchIndexValues

/// The attributes whose values an order aggregates, and the layout of their summaries. If the order also keeps a
/// fingerprint of its rows, each summary begins with it.
package final class AggregateColumns: Sendable {
    package struct Column: Sendable {
        /// The attribute's name, and those of its former names that the request uses. Empty if the columns were decoded
        /// from a cache's layout.
        package let names: [String]
        package let form: SummaryForm

        package init(_ names: [String], _ form: SummaryForm) {
            self.names = names
            self.form = form
        }
    }

    package let columns: [Column]
    package let hasFingerprint: Bool

    let forms: [SummaryForm]
    /// The offset of the first column in a summary.
    private let columnsStart: Int
    /// The names of all columns in a single array, because each section looks up its aggregates by name.
    private let names: [(name: String, form: SummaryForm, column: Int)]

    package init(_ columns: [Column] = [], hasFingerprint: Bool = false) {
        self.columns = columns
        self.hasFingerprint = hasFingerprint
        columnsStart = hasFingerprint ? Fingerprint.byteCount : 0
        forms = columns.map(\.form)
        names = columns.indices.flatMap { index in columns[index].names.map { ($0, columns[index].form, index) } }
        layout = Self.layout(of: forms, hasFingerprint: hasFingerprint)
        maximumLength = forms.reduce(columnsStart) { $0 + $1.maximumLength }
    }

    package static let none = AggregateColumns()
    package var isEmpty: Bool { columns.isEmpty && !hasFingerprint }

    /// The maximum length in bytes of any summary. With this limit, at least two entries with their summaries fit into
    /// a node of a cache.
    package static let greatestLength = 1500
    /// The maximum length of a summary with these columns, in bytes.
    package let maximumLength: Int

    /// The kind of result to compute from a column.
    package enum Result {
        case count
        /// The sum, in the column's type. A decimal if a sum of integers exceeds 64 bits; zero without values.
        case total
        /// The average: a decimal for decimals, otherwise a double. Null without values.
        case average
        /// The least value. Null without values.
        case minimum
        case maximum
    }

    /// The index of an attribute's column that keeps the sum and the extremes, if these are required; nil if no column
    /// does.
    package func index(of attribute: String, keepsSum: Bool, keepsExtremes: Bool) -> Int? {
        for index in names.indices
        where names[index].name == attribute && (names[index].form.keepsSum || !keepsSum)
            && (names[index].form.keepsExtremes || !keepsExtremes)
        { return names[index].column }
        return nil
    }

    /// Computes a result from the column with this index. The summary begins at the offset `start` of `summary`. Throws
    /// if it finds that a part is malformed; it doesn't read all parts.
    package func value(_ result: Result, at index: Int, of summary: [UInt8], from start: Int = 0) throws -> Value {
        let bytes = summary.span.bytes
        var offset = start + columnsStart
        for other in 0..<index {
            guard let end = SummaryColumn.end(in: bytes, at: offset, forms[other]) else { throw RowSummary.malformed }
            offset = end
        }
        let form = forms[index]
        return try SummaryColumn.value(result, ofIntegers: bytes, at: offset, form)
            ?? Self.value(result, ofAny: bytes, at: offset, form)
    }

    /// The fingerprint of the rows of a summary, which begins at the offset `start` of `summary`. Throws if the summary
    /// is malformed.
    package func fingerprint(of summary: [UInt8], from start: Int = 0) throws -> Fingerprint {
        guard hasFingerprint, let fingerprint = Fingerprint(summary.span.bytes, at: start) else {
            throw RowSummary.malformed
        }
        return fingerprint
    }

    /// The slow path is a separate function, so that the fast path needs little stack.
    @inline(never)
    private static func value(
        _ result: Result, ofAny bytes: RawSpan, at offset: Int, _ form: SummaryForm
    ) throws -> Value {
        guard let column = SummaryColumn(bytes, at: offset, form) else { throw RowSummary.malformed }
        return switch result {
        case .count: .integer(Int64(column.count))
        case .total: column.total
        case .average: column.average
        case .minimum: column.minimum
        case .maximum: column.maximum
        }
    }

    /// Reads all columns of a summary. Throws if one turns out to be malformed, or if other bytes follow the last one.
    package func prove(_ summary: [UInt8]) throws {
        if hasFingerprint { _ = try fingerprint(of: summary) }
        var offset = columnsStart
        for form in forms {
            guard let column = SummaryColumn(summary.span.bytes, at: offset, form) else { throw RowSummary.malformed }
            offset = column.end
        }
        if offset != summary.count { throw RowSummary.malformed }
    }

    /// The summarizer of the trees of an order with these columns; nil if rows have no summaries.
    var summarizer: (any Summarizer)? { isEmpty ? nil : self }

    // MARK: Layout

    /// The types of the columns, and whether each keeps sums and extremes, as text: "integer+sum+extremes,string". A
    /// fingerprint comes first: "fingerprint,string".
    package let layout: String

    private static let fingerprintLayout = "fingerprint"

    /// Whether a text that begins with a layout begins with that of a fingerprint. No type has its name.
    static func hasFingerprint(layout: String) -> Bool { layout.hasPrefix(fingerprintLayout) }

    private static func layout(of forms: [SummaryForm], hasFingerprint: Bool) -> String {
        var text = hasFingerprint ? fingerprintLayout : ""
        for form in forms {
            if !text.isEmpty { text += "," }
            text += form.type.name
            if form.keepsSum { text += "+sum" }
            if form.keepsExtremes { text += "+extremes" }
        }
        return text
    }

    /// Decodes a layout. Returns nil if the text isn't one. The columns have no names.
    convenience init?(layout: some StringProtocol) {
        var columns: [Column] = []
        var texts = layout.split(separator: ",", omittingEmptySubsequences: false)[...]
        let hasFingerprint = texts[0] == Self.fingerprintLayout
        if hasFingerprint { texts = texts.dropFirst() }
        for text in texts {
            let parts = text.split(separator: "+", omittingEmptySubsequences: false)
            guard let type = parts.first.flatMap({ ValueType(name: String($0)) }),
                parts.dropFirst().allSatisfy({ $0 == "sum" || $0 == "extremes" })
            else { return nil }
            columns.append(
                Column(
                    [],
                    SummaryForm(
                        type, keepsSum: parts.contains("sum"), keepsExtremes: parts.contains("extremes"))))
        }
        self.init(columns, hasFingerprint: hasFingerprint)
    }
}

extension AggregateColumns: Summarizer {
    package func begin() -> any RunningSummary { RowSummary(of: self) }
}

/// A running summary: the columns of some rows, summed up.
final class RowSummary: RunningSummary {
    private var sums: [ColumnSum]
    /// The sum of the fingerprints; nil if the order keeps none.
    private var fingerprint: Fingerprint?

    static let malformed = SectionedOrder.corrupted("a summary of rows is malformed")

    init(of columns: AggregateColumns) {
        sums = columns.forms.map { ColumnSum($0) }
        fingerprint = columns.hasFingerprint ? .zero : nil
    }

    func add(_ summary: RawSpan) throws {
        if fingerprint != nil {
            guard let other = Fingerprint(summary) else { throw Self.malformed }
            fingerprint?.add(other)
        }
        guard forEachColumn({ $0.add(summary, at: $1) }) == summary.byteCount else {
            throw Self.malformed
        }
    }

    func remove(_ summary: RawSpan) -> Bool {
        if fingerprint != nil {
            guard let other = Fingerprint(summary) else { return false }
            fingerprint?.subtract(other)
        }
        return forEachColumn { $0.remove(summary, at: $1) } == summary.byteCount
    }

    /// Visits all columns with a single access to the array, since a build calls this for each row.
    private func forEachColumn(_ body: (inout ColumnSum, _ offset: Int) -> Int?) -> Int? {
        let start = fingerprint == nil ? 0 : Fingerprint.byteCount
        return sums.withUnsafeMutableBufferPointer { sums in
            var end: Int? = start
            for index in sums.indices {
                guard let offset = end else { break }
                end = body(&sums[index], offset)
            }
            return end
        }
    }

    func take() -> [UInt8] {
        var bytes: [UInt8] = []
        if let fingerprint {
            fingerprint.append(to: &bytes)
            self.fingerprint = .zero
        }
        for index in sums.indices { sums[index].take(to: &bytes) }
        return bytes
    }
}
