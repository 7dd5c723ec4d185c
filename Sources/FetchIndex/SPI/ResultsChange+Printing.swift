internal import FetchIndexOrderCaches

// For printers of batches, which tell the section of the rows without a value from that of the empty text. Users see "" for both.
extension ResultsChange {
    /// The name of the section of an event, by the event's position in `sections`; nil for the section of the rows
    /// without a value.
    package func sectionName(ofEvent index: Int) -> String? {
        eventsOfNull.contains(index) ? nil : sections[index].name
    }
}
