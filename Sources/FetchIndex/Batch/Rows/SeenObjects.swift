internal import FetchIndexRecords

/// The objects of an entity whose rows came: the others may be deleted when all rows are here. Some bits for each object.
package struct SeenObjects: Sendable {
    private var numbers = ObjectNumbers()

    package init() {}

    package mutating func insert(_ number: UInt64) { numbers.insert(number) }

    package func contains(_ number: UInt64) -> Bool { numbers.contains(number) }
}
