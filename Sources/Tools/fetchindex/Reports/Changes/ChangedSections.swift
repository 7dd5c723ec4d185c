internal import FetchIndex
internal import FetchIndexInspection

/// Finds the names of sections by their indexes before or after a change.
final class ChangedSections {
    private let titles: SectionTitles
    private let order: FetchedOrder
    private let places: SectionPlaces
    /// The names of deleted sections, by old index; nil for the section of null.
    private var gone: [Int: String?] = [:]
    private var names: [Int: String?] = [:]

    /// Takes a change and the order after it.
    init(_ change: ResultsChange, _ order: FetchedOrder, _ titles: SectionTitles) {
        (self.order, self.titles) = (order, titles)
        places = SectionPlaces(change)
        for (index, event) in change.sections.enumerated() {
            guard case .delete(let from, _) = event else { continue }
            gone.updateValue(change.sectionName(ofEvent: index).map { titles.title($0) }, forKey: from)
        }
    }

    /// Returns the name of a section by its index after the change; nil for the section of null. O(log n).
    func name(ofNew index: Int) throws -> String? {
        if let known = names[index] { return known }
        let name = titles.title(of: try order.section(at: index))
        names.updateValue(name, forKey: index)
        return name
    }

    /// Returns the name of a section by its index before the change; nil for the section of null. If the section's
    /// object was renamed, the name is the new one.
    func name(ofOld index: Int) throws -> String? {
        if let new = places.new(ofOld: index) { return try name(ofNew: new) }
        return gone[index] ?? nil
    }
}
