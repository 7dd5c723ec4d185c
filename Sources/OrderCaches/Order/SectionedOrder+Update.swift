internal import CountedTree
internal import Records

/// An object's old and new row in an order; nil when it was or is no member.
struct RowEdit {
    let object: ObjectID
    let old: RowKey?
    let new: RowKey?
}

/// Where the sections of edited rows stood and stand, by their values.
struct TouchedSections {
    var old: [[UInt8]: SectionPlace] = [:]
    var new: [[UInt8]: SectionPlace] = [:]
}

extension SectionedOrder {
    /// Brings the order from objects' old rows to their new ones, and says where the sections of those rows stood and
    /// stand. O(k log n).
    ///
    /// Edits are applied by section and in key order, so that they meet the same nodes; a section's entry is
    /// changed once, after all its rows.
    @discardableResult
    mutating func update(_ edits: [RowEdit]) throws -> TouchedSections {
        var places = TouchedSections()
        // Also of rows that stay: their sections may come to stand elsewhere.
        for section in Set(edits.compactMap { $0.old?.section } + edits.compactMap { $0.new?.section }) {
            places.old[section] = try place(of: section)
        }
        let changed = edits.filter { $0.old != $0.new }
        let removed = changed.compactMap(\.old).sorted()
        let inserted = changed.compactMap(\.new).sorted()
        try apply(removed: removed, inserted: inserted)
        if shape.hasSections {
            var counts: [[UInt8]: Int] = places.old.mapValues(\.count)
            for key in removed { counts[key.section, default: 0] -= 1 }
            for key in inserted { counts[key.section, default: 0] += 1 }
            for (section, count) in counts {
                places.new[section] = try updateSection(section, count: count, from: places.old[section])
            }
        }
        for section in shape.hasSections ? Array(places.new.keys) : [[]] {
            if shape.hasSections, let key = places.new[section]?.key {
                places.new[section]?.index = try sections.rank(of: key.span.bytes).before.count
            } else {
                places.new[section] = try place(of: section)
            }
        }
        guard !shape.hasSections || sections.weight == rows.count else {
            throw Self.corrupted("the sections do not count the rows")
        }
        return places
    }

    /// Brings a section's entry up to its rows. The index of the place that is returned is still to be found.
    private mutating func updateSection(
        _ section: [UInt8], count: Int, from old: SectionPlace?
    ) throws -> SectionPlace? {
        let first = try firstRow(of: section)
        guard (first == nil) == (count == 0), count >= 0 else {
            throw Self.corrupted("a section's count does not agree with its rows")
        }
        let key = first.map { shape.sectionKey(value: section, firstRow: $0.remainder, count: count) }
        if let key, key == old?.key {
            if count != old?.count, try !sections.setWeight(count, of: key.span.bytes) {
                throw Self.corrupted("a section with rows is not among the sections")
            }
        } else {
            if let old, try sections.remove(old.key.span.bytes) == .absent {
                throw Self.corrupted("a section with rows is not among the sections")
            }
            if let key, try sections.insert(key.span.bytes, weight: count) == .present {
                throw Self.corrupted("a section without rows is among the sections")
            }
        }
        guard let key, let first else { return nil }
        return SectionPlace(index: 0, firstRank: first.rank, count: count, key: key)
    }

    private mutating func apply(removed: [RowKey], inserted: [RowKey]) throws {
        for key in removed where try rows.remove(key.bytes.span.bytes) == .absent {
            throw Self.corrupted("a row that should be there is missing")
        }
        for key in inserted where try rows.insert(key.bytes.span.bytes) == .present {
            throw Self.corrupted("a row is there already")
        }
    }
}
