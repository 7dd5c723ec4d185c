public import Predicates
internal import Records
internal import Values

extension FetchPredicate {
    /// Whether an object matches, with its unsaved values. O(size of the predicate and of the object): the predicate is
    /// prepared each time, so a fetch is the way to test many. Throws as a fetch does.
    public func evaluate(with object: ManagedObject) throws -> Bool {
        try withPublicErrors {
            let record = object.assembled(over: object.savedRecord())
            let entity = object.entity
            return try CompiledPredicate(self, entity).evaluate(RecordView(record.span.bytes, of: entity))
        }
    }
}
