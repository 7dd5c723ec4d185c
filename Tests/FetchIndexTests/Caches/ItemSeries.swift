import FetchIndex
import FetchIndexTestSupport

/// Random commits of items with a group and a size.
struct ItemSeries {
    static let model = Model(entities: [
        Entity("Item", [AttributeDescription("group", .integer), AttributeDescription("size", .integer)])
    ])

    let context: ManagedObjectContext
    private var objects: [ManagedObject] = []

    init(_ container: PersistentContainer) { context = container.newContext() }

    /// Inserts, changes and deletes a few items, and saves. Returns the commit.
    mutating func commit(_ random: inout SeededGenerator) throws -> UInt64 {
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let object: ManagedObject
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where !objects.isEmpty:
                context.delete(objects.remove(at: Int.random(in: objects.indices, using: &random)))
                continue
            case 1 where !objects.isEmpty: object = objects[Int.random(in: objects.indices, using: &random)]
            default:
                object = try context.insert("Item")
                objects.append(object)
            }
            object["group"] = .integer(.random(in: 0..<4, using: &random))
            object["size"] = .integer(.random(in: 0..<20, using: &random))
        }
        try context.save()
        return try context.commit
    }
}
