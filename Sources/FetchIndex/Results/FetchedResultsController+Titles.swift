extension FetchedResultsController {
    /// The title of a section of some name: the delegate's; the name itself where sections are index titles; or the
    /// name's first character, upper-cased.
    public func sectionIndexTitle(forSectionName name: String) -> String? {
        if let delegate, let title = delegate.controller(self, sectionIndexTitleForSectionName: name) { return title }
        return SectionKey.indexTitle(ofSectionNamed: name, sectionKey)
    }

    /// The distinct titles of the sections in order. O(sections).
    public var sectionIndexTitles: [String] {
        var seen: Set<String> = []
        return sections.compactMap(\.indexTitle).filter { seen.insert($0).inserted }
    }

    /// The index of the first section with a title; nil when there is none. O(sections).
    public func section(forSectionIndexTitle title: String) -> Int? {
        sections.firstIndex { $0.indexTitle == title }
    }

    /// As `section(forSectionIndexTitle:)`, for the title at an index of `sectionIndexTitles`.
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let titles = sectionIndexTitles
        return titles.indices.contains(index) && titles[index] == title
            ? section(forSectionIndexTitle: title) : nil
    }
}
