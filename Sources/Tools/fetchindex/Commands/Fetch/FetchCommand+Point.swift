internal import FetchIndex

extension FetchCommand {
    /// Opens the order. With `--at`, it is as at that point, and the cache isn't changed.
    func withOrder<Result>(
        _ definition: OrderDefinition, _ options: PersistentContainer.OrderOptions, in container: PersistentContainer,
        _ body: (FetchedOrder) throws -> Result
    ) throws -> Result {
        guard let at else { return try container.withOrder(definition, options, body) }
        do {
            return try container.withUnchangedOrder(definition, options) { try body($0.past(at: at)) }
        } catch StoreError.logTooShort {
            throw try at.unreachable(in: container)
        }
    }
}
