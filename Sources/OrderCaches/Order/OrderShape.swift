internal import FetchIndexPlatform
internal import FetchIndexCountedTree
package import FetchIndexValues

/// What shapes the sections of an order besides its placements.
package struct OrderShape: Sendable {
    /// The order of sections.
    package enum SectionOrder: Hashable, Sendable {
        /// By each section's first row, under the sort keys.
        case byFirstRow
        /// By name.
        case byName(descending: Bool = false, TextOrder = .binary)
        /// By the number of rows; equal numbers by the section's value, or of sections that are of objects by their names.
        case byCount(descending: Bool = true)
    }

    /// Without sections there is always one, unnamed.
    package let hasSections: Bool
    package let sectionOrder: SectionOrder
    /// Of which attributes the trees keep sums.
    package let aggregates: AggregateColumns
    /// Whether sections are of objects, and have headings.
    let hasHeadings: Bool
    /// Whether names are numbers, and so ordered by value: 9 before 10.
    private let namesAreNumbers: Bool
    let summarizer: (any Summarizer)?
    private let collator: TextCollator?

    package init(
        hasSections: Bool, hasHeadings: Bool = false, sectionOrder: SectionOrder = .byFirstRow,
        namesAreNumbers: Bool = false, aggregates: AggregateColumns = .none
    ) throws {
        self.hasSections = hasSections
        self.hasHeadings = hasHeadings
        self.sectionOrder = sectionOrder
        self.namesAreNumbers = namesAreNumbers
        self.aggregates = aggregates
        summarizer = aggregates.summarizer
        if case .byName(_, let textOrder) = sectionOrder, !namesAreNumbers {
            collator = try TextCollator(textOrder)
        } else {
            collator = nil
        }
    }

    /// The version of the order of names: that of their collator, if any, or that of numbers. An earlier version of FetchIndex ordered
    /// numbers as texts.
    package var collationVersion: String? {
        if case .byName = sectionOrder, namesAreNumbers { return "numbers by value" }
        return collator?.version
    }

    /// Whether a section's key depends on its rows.
    var needsRows: Bool {
        if case .byName = sectionOrder { return false }
        return true
    }

    /// The key of a section in the sections tree.
    ///
    ///     section order key | heading | its length 4 BE | section value | its length 4 BE
    ///
    /// The order key is the first row's sort key and object number, the name's OrderKey, or the count: none begins
    /// another's. Sections without headings have none of it, nor its length. The sort keys that a heading has stand before those of
    /// the first row.
    func sectionKey(
        value: [UInt8], _ heading: [UInt8]?, firstRow remainder: [UInt8], count: Int
    ) -> [UInt8] {
        var key: [UInt8] = []
        switch sectionOrder {
        case .byFirstRow:
            if let heading { key = Array(heading[Self.nameLength(in: heading)...]) }
            key += remainder
        case .byName(let isDescending, _):
            appendName(of: heading ?? value, to: &key)
            if isDescending { OrderKey.reverse(&key, from: 0) }
        case .byCount(let isDescending):
            OrderKey.appendInteger(Int64(count), to: &key)
            if isDescending { OrderKey.reverse(&key, from: 0) }
        }
        if let heading {
            key.append(contentsOf: heading)
            key.appendBigEndian(UInt32(truncatingIfNeeded: heading.count))
        }
        key.append(contentsOf: value)
        key.appendBigEndian(UInt32(truncatingIfNeeded: value.count))
        return key
    }

    /// Whether sections stand in the order of their rows, given one section's key and value: when the key begins with the value, which
    /// is a text or a number then, and its bytes order both. Other sections' values are of its type, or null, which stands first in both
    /// orders.
    func hasSectionsInOrderOfRows(_ key: [UInt8], value: [UInt8]) -> Bool {
        guard case .byName(descending: false, _) = sectionOrder, collator == nil, !hasHeadings else { return false }
        return key.starts(with: value)
    }

    private func appendName(of value: [UInt8], to key: inout [UInt8]) {
        if namesAreNumbers {
            key.append(contentsOf: value[..<Self.nameLength(in: value)])
            return
        }
        let name = Array(OrderShape.name(of: value.span.bytes).utf8)
        if let collator {
            collator.withSortKey(of: name.span.bytes) { OrderKey.appendBytes($0, as: .string, to: &key) }
        } else {
            OrderKey.appendBytes(name.span.bytes, as: .string, to: &key)
        }
    }

    /// How many bytes of a heading are its name.
    static func nameLength(in heading: [UInt8]) -> Int {
        min(OrderKey.lengthOfFirst(in: heading.span.bytes) ?? heading.count, heading.count)
    }

    /// A section's name: its value, or its heading's name, as plain text.
    static func name(of value: RawSpan) -> String { OrderKey.first(in: value)?.value.description ?? "" }

    /// Whether a section's value is null. Without sections there is no value, which is not null.
    static func isNull(_ value: RawSpan) -> Bool {
        value.byteCount == 1 && OrderKey.isNull(value)
    }

    /// The section value that a key of the sections tree ends with.
    static func sectionValue(in key: RawSpan) -> [UInt8]? {
        lastPart(of: key).map { [UInt8](copying: key.extracting($0)) }
    }

    /// Where the value and the heading stand that a key of the sections tree ends with; nil when it is too short.
    func valueAndHeading(in key: RawSpan) -> (value: Range<Int>, heading: Range<Int>?)? {
        guard let value = Self.lastPart(of: key) else { return nil }
        if !hasHeadings { return (value, nil) }
        return Self.lastPart(of: key.extracting(first: value.lowerBound)).map { (value, $0) }
    }

    /// The bytes before the length that a key ends with.
    private static func lastPart(of key: RawSpan) -> Range<Int>? {
        guard key.byteCount >= 4 else { return nil }
        let end = key.byteCount - 4
        let length = Int(UInt32(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self)))
        return length <= end ? end - length..<end : nil
    }
}
