// For `diff`, which chooses caches of two stores. Users call `forEachDifference`, which throws.
extension FetchedOrder {
    /// Whether `forEachDifference` can compare two orders.
    package func isComparable(to other: FetchedOrder) -> Bool { (try? requireComparable(to: other)) != nil }
}
