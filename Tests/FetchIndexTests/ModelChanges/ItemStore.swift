import FetchIndex

/// A store of items, to whose plain attributes tests add derived attributes.
struct ItemStore {
    static let plain = [
        AttributeDescription("code", .integer, isUnique: true), AttributeDescription("name", .string),
        AttributeDescription("price", .integer),
        AttributeDescription("count", .integer, isOptional: false, defaultValue: .integer(1)),
    ]

    let models = ModelStore()

    func model(_ attributes: AttributeDescription...) -> Model {
        Model(entities: [Entity("Item", Self.plain + attributes)])
    }

    func request(_ format: String? = nil) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.predicate = try format.map { try FetchPredicate(format: $0, argumentArray: []) }
        request.sortKeys = [SortKey("code")]
        return request
    }

    func values(of attribute: String, in container: PersistentContainer) throws -> [Value] {
        let context = container.newContext()
        let values = try context.fetch(request()).map { $0[attribute] }
        withExtendedLifetime(context) {}
        return values
    }
}
