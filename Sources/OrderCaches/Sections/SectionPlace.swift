internal import FetchIndexPlatform
internal import FetchIndexCountedTree

/// The position of a section in one state of an order, or in the list of a window.
struct SectionPlace {
    /// The section's index, in display order.
    var index: Int
    /// The rank of the section's first row in the rows tree, or the row's index in the list.
    var firstRank: Int
    var count: Int
    /// The section's key in the sections tree; a placeholder in a list.
    var key: [UInt8]
    /// The summary of the section's rows. Empty in an order without aggregates or sections, and in a position that
    /// wasn't looked up in the sections tree.
    var summary: [UInt8] = []
    /// The section's heading; nil in an order without headings.
    var heading: [UInt8]?

    /// The name at the beginning of the section's heading; nil in an order without headings.
    var headedName: ArraySlice<UInt8>? { heading.map { $0[..<OrderShape.nameLength(in: $0)] } }
}

extension SectionedOrder {
    /// The rank in the rows tree that a section's first row has, or would have if the section had rows.
    func firstRank(of section: [UInt8]) throws -> Int {
        section.isEmpty ? 0 : try rows.rank(of: section.span.bytes).before.count
    }

    /// The rank of a row in the rows tree; nil if the row is missing.
    func rank(of key: RowKey) throws -> Int? {
        let rank = try rows.rank(of: key.bytes.span.bytes)
        return rank.isPresent ? rank.before.count : nil
    }

    /// The position of a section; nil if the section has no rows. In an order without sections, the only section always
    /// has a position. O(log n).
    func place(of section: [UInt8]) throws -> SectionPlace? {
        guard shape.hasSections else { return SectionPlace(index: 0, firstRank: 0, count: rowCount, key: []) }
        guard let (rank, remainder) = try firstRow(of: section) else { return nil }
        // Section keys contain the count only in an order by count. In other orders, it isn't needed to find the
        // section.
        var count = 0
        if case .byCount = shape.sectionOrder { count = try endRank(of: section) - rank }
        let heading = try heading(of: section)
        if shape.hasHeadings && heading == nil { throw Self.corrupted("a section with rows has no heading") }
        let key = shape.sectionKey(value: section, heading, firstRow: remainder, count: count)
        guard let place = place(try sections.rank(of: key.span.bytes), key, heading, firstRank: rank) else {
            throw Self.corrupted("a section with rows is not among the sections")
        }
        return place
    }

    /// The heading of a section; nil if the section doesn't exist, or if the order has no headings. O(log n).
    private func heading(of section: [UInt8]) throws -> [UInt8]? {
        if !shape.hasHeadings { return nil }
        var found: [UInt8]?
        _ = try headings.firstEntry(from: section.span.bytes) { key, _ in
            guard key.byteCount > section.count,
                key.extracting(first: section.count).isEqual(to: section.span.bytes)
            else { return }
            found = [UInt8](copying: key.extracting(section.count..<key.byteCount))
        }
        return found
    }

    /// Finds the position of a section like `place(of:)`, but looks up the rank of its first row only if the section
    /// can't be found without it. If that rank isn't known, the returned `firstRank` is nil, and the place has 0
    /// instead: the caller looks the rank up together with those of other sections. If the section is missing,
    /// `firstRank` may be the rank that its first row would have.
    func entry(of section: [UInt8]) throws -> (place: SectionPlace?, firstRank: Int?) {
        if !shape.hasSections || shape.needsRows {
            let place = try place(of: section)
            return (place, place?.firstRank)
        }
        let heading = try heading(of: section)
        if shape.hasHeadings && heading == nil { return (nil, nil) }
        let key = shape.sectionKey(value: section, heading, firstRow: [], count: 0)
        let found = try sections.rank(of: key.span.bytes)
        let firstRank = shape.hasSectionsInOrderOfRows(key, value: section) ? found.before.weight : nil
        return (place(found, key, heading, firstRank: firstRank ?? 0), firstRank)
    }

    /// The position of a section, given the result of looking up its key in the sections tree; nil if the tree lacks
    /// the key.
    private func place(_ found: Rank, _ key: [UInt8], _ heading: [UInt8]?, firstRank: Int) -> SectionPlace? {
        guard found.isPresent, found.before.count < sections.count else { return nil }
        return SectionPlace(
            index: found.before.count, firstRank: firstRank, count: found.weight, key: key, summary: found.summary,
            heading: heading)
    }

    /// The rank of a section's first row, and the row's key after the section value; nil if the section has no rows.
    func firstRow(of section: [UInt8]) throws -> (rank: Int, remainder: [UInt8])? {
        var first: (rank: Int, remainder: [UInt8])?
        _ = try rows.firstEntry(from: section.span.bytes) { key, rank in
            guard key.byteCount > section.count,
                key.extracting(first: section.count).isEqual(to: section.span.bytes)
            else { return }
            first = (rank, [UInt8](copying: key.extracting(section.count..<key.byteCount)))
        }
        return first
    }

    /// The rank of a section's last row, plus 1.
    private func endRank(of section: [UInt8]) throws -> Int {
        // No row key has eight bytes 0xFF after the section value, so this key is greater than those of the section's
        // rows.
        let end = section + [UInt8](repeating: 0xFF, count: 8)
        return try rows.rank(of: end.span.bytes).before.count
    }
}
