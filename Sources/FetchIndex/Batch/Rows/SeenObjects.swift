internal import FetchIndexRecords

/// The numbers of the objects whose rows have arrived. After the last row, objects without a row may be deleted. Takes
/// a few bits for each object if the numbers have few gaps.
package struct SeenObjects: Sendable {
    private var numbers = ObjectNumbers()

    package init() {}

    package mutating func insert(_ number: UInt64) { numbers.insert(number) }

    package func contains(_ number: UInt64) -> Bool { numbers.contains(number) }

    /// Calls the body with the numbers, in any order.
    package func forEach(_ body: (UInt64) throws -> Void) rethrows { try numbers.forEach(body) }
}
