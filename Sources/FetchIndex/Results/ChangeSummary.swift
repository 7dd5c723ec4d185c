/// What a change did to an order, in numbers: for each section that it touched, and in all.
public struct ChangeSummary: Equatable, Sendable {
    /// The numbers of rows of each kind of event.
    public struct Counts: Equatable, Sendable {
        public internal(set) var inserted = 0
        public internal(set) var deleted = 0
        /// Rows that moved within the section.
        public internal(set) var moved = 0
        /// Rows that came from other sections; in a total, 0.
        public internal(set) var arrived = 0
        /// Rows that went to other sections; in a total, their number is in `moved`.
        public internal(set) var left = 0
        /// Rows whose values changed without a move.
        public internal(set) var updated = 0
    }

    public struct Section: Equatable, Sendable {
        /// The name; "" for the section of null.
        public let name: String
        public let isNull: Bool
        /// The index before the change; nil for a new section.
        public let from: Int?
        /// The index after the change; nil for a section that is gone.
        public let to: Int?
        public let rowsBefore: Int
        public let rowsAfter: Int
        public let counts: Counts
    }

    public let rowsBefore: Int
    public let rowsAfter: Int
    /// The numbers of the whole order.
    public private(set) var counts = Counts()
    /// The sections that came, went, moved or were renamed, and those with changed rows: first the sections of the new
    /// order, by index, then those that are gone, by their old index.
    public private(set) var sections: [Section] = []

    /// `order` is the order after the change.
    fileprivate init(_ change: ResultsChange, _ order: FetchedOrder) throws {
        if let reason = change.rebuilt {
            throw RequestError.malformed("a change that is unknown (\(reason.rawValue)) has no summary")
        }
        let touched = TouchedSections(change)
        counts = touched.total
        rowsAfter = order.rowCount
        rowsBefore = rowsAfter - counts.inserted + counts.deleted
        let old = touched.places.old(ofNew: touched.present.keys)
        for (to, counts) in touched.present.sorted(by: { $0.key < $1.key }) {
            let section = try order.section(at: to)
            sections.append(
                Section(
                    name: section.name, isNull: section.isNull, from: old[to], to: to,
                    rowsBefore: section.count - counts.gain, rowsAfter: section.count, counts: counts))
        }
        for (index, event) in change.sections.enumerated() {
            guard case .delete(let from, let name) = event, let counts = touched.gone[from] else { continue }
            sections.append(
                Section(
                    name: name, isNull: change.eventsOfNull.contains(index), from: from, to: nil,
                    rowsBefore: -counts.gain, rowsAfter: 0, counts: counts))
        }
    }
}

/// The counts of the sections that a change touched.
private struct TouchedSections {
    typealias Counts = ChangeSummary.Counts

    let places: SectionPlaces
    /// The counts of sections by new index, and of sections that are gone by old index.
    private(set) var present: [Int: Counts] = [:]
    private(set) var gone: [Int: Counts] = [:]
    private(set) var total = Counts()

    init(_ change: ResultsChange) {
        places = SectionPlaces(change)
        for event in change.sections {
            switch event {
            case .delete(let from, _): gone[from] = Counts()
            case .insert(let to, _), .move(_, let to, _), .update(_, let to, _): present[to] = Counts()
            }
        }
        for event in change.rows { count(event) }
    }

    private mutating func count(_ event: ResultsChange.RowEvent) {
        switch event {
        case .delete(_, let from):
            total.deleted += 1
            count(\.deleted, inOld: from.section)
        case .insert(_, let to):
            total.inserted += 1
            count(\.inserted, in: to.section)
        case .move(_, let from, let to):
            total.moved += 1
            if places.new(ofOld: from.section) == to.section { return count(\.moved, in: to.section) }
            count(\.left, inOld: from.section)
            count(\.arrived, in: to.section)
        case .update(_, _, let to):
            total.updated += 1
            count(\.updated, in: to.section)
        }
    }

    private mutating func count(_ count: WritableKeyPath<Counts, Int>, in section: Int) {
        present[section, default: Counts()][keyPath: count] += 1
    }

    private mutating func count(_ count: WritableKeyPath<Counts, Int>, inOld section: Int) {
        if let to = places.new(ofOld: section) { return self.count(count, in: to) }
        gone[section, default: Counts()][keyPath: count] += 1
    }
}

extension ChangeSummary.Counts {
    /// By how many rows the section grew.
    fileprivate var gain: Int { inserted + arrived - deleted - left }
}

extension FetchedOrder {
    /// Counts what a change did, by section. This is the order after the change. O(e + s log n) for e events in s sections, with the old places of all sections that came, went or moved in
    /// memory. Throws `StoreError`, and `RequestError` if the change is unknown (`rebuilt`).
    public func summary(of change: ResultsChange) throws -> ChangeSummary { try ChangeSummary(change, self) }
}
