internal import CountedTree
internal import Records

/// An object's old and new row in an order; nil when it was or is no member.
struct RowEdit {
    let object: ObjectID
    let old: RowKey?
    let new: RowKey?
}

extension SectionedOrder {
    /// Brings the order from objects' old rows to their new ones. O(k log n).
    ///
    /// Edits are applied by section and in key order, so that they meet the same nodes; a section's entry is
    /// changed once, after all its rows.
    mutating func update(_ edits: [RowEdit]) throws {
        let changed = edits.filter { $0.old != $0.new }
        var removed = changed.compactMap(\.old)
        var inserted = changed.compactMap(\.new)
        removed.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        inserted.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        guard shape.hasSections else {
            try apply(removed: removed, inserted: inserted)
            return
        }
        let touched = Set(removed.map(\.section)).union(inserted.map(\.section))
        var oldKeys: [[UInt8]: [UInt8]] = [:]
        for section in touched { oldKeys[section] = try sectionKey(of: section)?.key }
        try apply(removed: removed, inserted: inserted)
        for section in touched {
            let new = try sectionKey(of: section)
            let oldKey = oldKeys[section]
            if let new, new.key == oldKey {
                guard try sections.setWeight(new.ranks.count, of: new.key.span.bytes) else {
                    throw Self.corrupted("a section with rows is not among the sections")
                }
                continue
            }
            if let oldKey, try sections.remove(oldKey.span.bytes) == .absent {
                throw Self.corrupted("a section with rows is not among the sections")
            }
            if let new, try sections.insert(new.key.span.bytes, weight: new.ranks.count) == .present {
                throw Self.corrupted("a section without rows is among the sections")
            }
        }
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
