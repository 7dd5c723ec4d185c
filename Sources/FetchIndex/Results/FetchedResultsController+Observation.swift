public import Observation

/// Observation of results: all reads of sections and rows are tracked together. Objects track their own attributes.
extension FetchedResultsController: Observable {}

extension FetchedResultsController {
    /// Notes a read of the results.
    func noteRead() {
        let observers = self.observers ?? Observers()
        if self.observers == nil { self.observers = observers }
        observers.registrar.access(observers, keyPath: Observers.results)
    }

    /// Notifies observers that the results have changed.
    func noteChange() {
        guard let observers else { return }
        observers.registrar.withMutation(of: observers, keyPath: Observers.results) {}
    }
}

// A key path of a controller would be created at each read, because the class is generic.
extension Observers: Observable {
    fileprivate static let results: any KeyPath<Observers, Bool> & Sendable = \.observedResults

    // Never read: it only identifies what observers track.
    private var observedResults: Bool { false }
}

extension FetchedResultsController {
    /// The index title of a section's name: the delegate's title, or the name if sections are index titles, otherwise
    /// the upper-cased first character of the name.
    public func sectionIndexTitle(forSectionName name: String) -> String? {
        if let delegate, let title = delegate.controller(self, sectionIndexTitleForSectionName: name) { return title }
        return SectionKey.indexTitle(ofSectionNamed: name, sectionKey)
    }

    /// The distinct titles of the sections in order. O(sections).
    public var sectionIndexTitles: [String] {
        var seen: Set<String> = []
        return sections.compactMap(\.indexTitle).filter { seen.insert($0).inserted }
    }

    /// The index of the first section with a title; nil if no section has it. O(sections).
    public func section(forSectionIndexTitle title: String) -> Int? {
        sections.firstIndex { $0.indexTitle == title }
    }

    /// Like `section(forSectionIndexTitle:)`, for the title at an index of `sectionIndexTitles`; nil if the title isn't
    /// at the index.
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let titles = sectionIndexTitles
        return titles.indices.contains(index) && titles[index] == title
            ? section(forSectionIndexTitle: title) : nil
    }
}
