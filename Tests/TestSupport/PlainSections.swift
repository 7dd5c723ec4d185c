/// The order of sections in the oracle.
package enum PlainSectionOrder {
    case byFirstRow
    case byName(isDescending: Bool)
    case byCount(isDescending: Bool)
}

/// The value of a section. Null comes first; texts compare by their UTF-8 bytes.
package enum PlainSectionValue: Hashable, Comparable {
    package struct Text: Hashable, Comparable {
        let bytes: [UInt8]

        package static func < (left: Text, right: Text) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
    }

    case null
    case number(Int)
    /// A number that isn't an integer, and its name.
    case measured(Double, Text)
    case text(Text)

    /// A number that isn't an integer, from its name in plain decimal.
    package init(number name: String) { self = .measured(Double(name) ?? .nan, Text(bytes: Array(name.utf8))) }

    package init(_ text: String?) { self = text.map { .text(Text(bytes: Array($0.utf8))) } ?? .null }

    var name: Text {
        switch self {
        case .null: Text(bytes: [])
        case .number(let number): Text(bytes: Array("\(number)".utf8))
        case .measured(_, let name), .text(let name): name
        }
    }
}

/// Sorts rows and groups them into sections in plain Swift, as an oracle for tests.
///
/// `isBefore` is a total order of the rows. Sections with the same count are in the order of their values. If `value`
/// is nil, the result is one section with an empty name.
package func plainSections<Row>(
    of rows: [Row], by isBefore: (Row, Row) -> Bool, in value: ((Row) -> PlainSectionValue)?, _ order: PlainSectionOrder
) -> [(name: String, rows: [Row])] {
    let sorted = rows.sorted(by: isBefore)
    guard let value else { return [("", sorted)] }
    let sections = Dictionary(grouping: sorted, by: value).map { (value: $0.key, rows: $0.value) }
    return sections.sorted { left, right in
        switch order {
        case .byFirstRow: return isBefore(left.rows[0], right.rows[0])
        case .byName(let isDescending):
            // Numbers are ordered by value, and texts by name; no section key has both.
            if left.value != right.value { return (left.value < right.value) != isDescending }
        case .byCount(let isDescending):
            let (count, other) = (left.rows.count, right.rows.count)
            if count != other { return (count < other) != isDescending }
        }
        return left.value < right.value
    }
    .map { (String(decoding: $0.value.name.bytes, as: UTF8.self), $0.rows) }
}
