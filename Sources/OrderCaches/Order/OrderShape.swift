internal import FetchIndexPlatform
internal import FetchIndexCountedTree
internal import FetchIndexValues

/// The properties of an order that determine its sections, in addition to the placements of its rows.
package struct OrderShape: Sendable {
    /// Whether the order has sections. If not, all rows are in one section without a name.
    package let hasSections: Bool
    package let sectionOrder: SectionOrder
    /// The attributes whose values the trees aggregate.
    package let aggregates: AggregateColumns
    /// Whether sections are related objects, and so have headings.
    let hasHeadings: Bool
    /// Whether section names are numbers or booleans, which an order by name compares by value: 9 is less than 10.
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

    /// The version of the rules by which an order by name compares section names: a constant text if the names are
    /// numbers, which earlier versions of FetchIndex ordered as texts; otherwise the version of the collator, if any.
    /// Nil if sections have another order.
    package var collationVersion: String? {
        if case .byName = sectionOrder, namesAreNumbers { return "numbers by value" }
        return collator?.version
    }

    /// Whether the key of a section depends on its rows.
    var needsRows: Bool {
        if case .byName = sectionOrder { return false }
        return true
    }

    /// The key of a section in the sections tree.
    ///
    ///     section order key | heading | its length 4 BE | section value | its length 4 BE
    ///
    /// The order key is the rest of the first row's key after the section value, the OrderKey of the name or of its
    /// collation key, or the count. No order key is a prefix of another. In orders without headings, the heading and
    /// its length are missing. In orders with headings, the sort keys in the heading precede those of the first row.
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

    /// Whether the key and the value of a section show that the sections tree has the sections in the order of their
    /// rows in the rows tree. They show it if the key begins with the value, because the bytes of the value then
    /// determine both orders. That is so for texts and numbers. The values of other sections have the same type, or are
    /// null, which comes first in both orders.
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

    /// The length in bytes of the name, with which a heading begins.
    static func nameLength(in heading: [UInt8]) -> Int {
        min(OrderKey.lengthOfFirst(in: heading.span.bytes) ?? heading.count, heading.count)
    }

    /// A section's name as plain text. `value` is the section's value or heading, which begins with the name.
    static func name(of value: RawSpan) -> String { OrderKey.first(in: value)?.value.description ?? "" }

    /// Whether a section's value is null. The value of the only section in an order without sections is empty, which
    /// isn't null.
    static func isNull(_ value: RawSpan) -> Bool {
        value.byteCount == 1 && OrderKey.isNull(value)
    }

    /// The section value at the end of a key of the sections tree; nil if the key is too short.
    static func sectionValue(in key: RawSpan) -> [UInt8]? {
        lastPart(of: key).map { [UInt8](copying: key.extracting($0)) }
    }

    /// The ranges of the section value and the heading in a key of the sections tree; nil if the key is too short.
    func valueAndHeading(in key: RawSpan) -> (value: Range<Int>, heading: Range<Int>?)? {
        guard let value = Self.lastPart(of: key) else { return nil }
        if !hasHeadings { return (value, nil) }
        return Self.lastPart(of: key.extracting(first: value.lowerBound)).map { (value, $0) }
    }

    /// The range of the last part of a key. The key ends with the length of this part.
    private static func lastPart(of key: RawSpan) -> Range<Int>? {
        guard key.byteCount >= 4 else { return nil }
        let end = key.byteCount - 4
        let length = Int(UInt32(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self)))
        return length <= end ? end - length..<end : nil
    }
}
