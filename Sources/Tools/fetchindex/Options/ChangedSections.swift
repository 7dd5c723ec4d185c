internal import FetchIndex
internal import FetchIndexInspection

/// Finds the names of sections by their indexes before or after a change.
final class ChangedSections {
    private let titles: SectionTitles
    private let order: FetchedOrder
    /// The names of deleted sections, by old index; nil for the section of null.
    private var gone: [Int: String?] = [:]
    /// The new indexes of moved sections, by old index.
    private var moved: [Int: Int] = [:]
    /// The old indexes of deleted and moved sections, in ascending order.
    private var left: [Int] = []
    /// The new indexes of inserted and moved sections, in ascending order.
    private var came: [Int] = []
    private var names: [Int: String?] = [:]

    /// Takes a change and the order after it.
    init(_ change: ResultsChange, _ order: FetchedOrder, _ titles: SectionTitles) {
        (self.order, self.titles) = (order, titles)
        for (index, event) in change.sections.enumerated() {
            switch event {
            case .delete(let from, _):
                gone.updateValue(change.sectionName(ofEvent: index).map { titles.title($0) }, forKey: from)
                left.append(from)
            case .insert(let to, _): came.append(to)
            case .move(let from, let to, _):
                moved[from] = to
                left.append(from)
                came.append(to)
            case .update: break
            }
        }
        left.sort()
        came.sort()
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
        if let name = gone[index] { return name }
        if let new = moved[index] { return try name(ofNew: new) }
        // The section was neither deleted nor moved. Such sections keep their relative order, so the new index is the
        // old one, minus the number of sections before it that were deleted or moved away, plus the number of sections
        // before it that were inserted or moved there.
        var new = index - left.count { $0 < index }
        for arrival in came where arrival <= new { new += 1 }
        return try name(ofNew: new)
    }
}
