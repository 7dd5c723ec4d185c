public import FetchIndexPredicates
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

extension FetchPredicate {
    /// Whether the predicate holds for an object with its unsaved values. If the predicate follows relationships, costs
    /// O(unsaved objects), and O(log n) for each related object. The predicate is compiled for each call, so use a
    /// fetch to test many objects. Throws the errors of a fetch.
    public func evaluate(with object: ManagedObject) throws -> Bool {
        try withPublicErrors {
            let record = object.assembled(over: object.savedRecord())
            let entity = object.entity
            guard let context = object.managedObjectContext else {
                return try CompiledPredicate(self, entity).evaluate(RecordView(record.span.bytes, of: entity))
            }
            let model = context.model
            let table = PathTable(ofEntity: object.key.entity, in: model, self)
            let compiled = try CompiledPredicate(self, entity, table)
            if table.allPaths.isEmpty { return try compiled.evaluate(RecordView(record.span.bytes, of: entity)) }
            var unsaved: [RecordKey: [UInt8]?] = [:]
            for object in context.unsavedObjects { unsaved.updateValue(object.currentRecord(), forKey: object.key) }
            let place = RelatedPlace(
                object: object.key, state: ChangedState(unsaved, over: try context.snapshot()), paths: table.paths,
                model: model, usedNames: table.usedNames)
            let bytes = record.span.bytes
            return try compiled.evaluate(RelatedRow(RecordView(bytes, of: entity), bytes, place))
        }
    }
}
