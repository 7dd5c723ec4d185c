public import Observation

/// Observation of a controller's results. All sections and rows are tracked as one; objects track their own attributes.
extension FetchedResultsController: Observable {}

extension FetchedResultsController {
    /// Reports a read of the results to Observation.
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

// The key path's root is `Observers`, because a key path of the generic controller would be created at each read.
extension Observers: Observable {
    fileprivate static let results: any KeyPath<Observers, Bool> & Sendable = \.observedResults

    // This property isn't read: its key path only identifies the results.
    private var observedResults: Bool { false }
}

extension FetchedResultsController {
    /// The index title for a section's name: the delegate's title, if any. Otherwise it's the name itself if the
    /// section key is an index title, or the upper-cased first character of the name; nil for an empty name.
    public func sectionIndexTitle(forSectionName name: String) -> String? {
        if let delegate, let title = delegate.controller(self, sectionIndexTitleForSectionName: name) { return title }
        return SectionKey.indexTitle(ofSectionNamed: name, sectionKey)
    }

    /// The distinct index titles of the sections, in the order of the sections. O(sections x log n).
    public var sectionIndexTitles: [String] {
        var seen: Set<String> = []
        return sections.compactMap(\.indexTitle).filter { seen.insert($0).inserted }
    }

    /// The index of the first section with an index title; nil if no section has the title. O(sections x log n).
    public func section(forSectionIndexTitle title: String) -> Int? {
        sections.firstIndex { $0.indexTitle == title }
    }

    /// The index of the first section with an index title; nil if `sectionIndexTitles` doesn't have the title at
    /// `index`. O(sections x log n).
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let titles = sectionIndexTitles
        return titles.indices.contains(index) && titles[index] == title
            ? section(forSectionIndexTitle: title) : nil
    }
}
