internal import FetchIndexOrderCaches

// For printers of change batches, which distinguish the section of the rows without a value from the section of the
// empty string. Users see "" as the name of both.
extension ResultsChange {
    /// The name of the section in the event at an index of `sections`; nil for the section of the rows without a value.
    package func sectionName(ofEvent index: Int) -> String? {
        eventsOfNull.contains(index) ? nil : sections[index].name
    }
}
