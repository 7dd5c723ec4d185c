internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import Synchronization

/// A definition compiled for a model, as far as needed to find its cache and to read that cache. The objects that place
/// rows are made later.
struct CompiledOrder: Sendable {
    let entity: Int
    let subentities: [Int]
    let shape: OrderShape
    let paths: [RelatedPath]
    let dependencies: [Int]
    let identity: CacheIdentity
}

/// Keeps up to 64 compiled definitions, all for the same version of the model, for later requests.
final class CompiledOrders: Sendable {
    private struct State {
        /// The version of the model.
        var version: UInt32 = 0
        var orders: [OrderDefinition: CompiledOrder] = [:]
    }

    private static let mostOrders = 64

    private let state = Mutex(State())

    /// Compiles a definition like `OrderDefinition.compile`, or uses the compiled definition that was kept.
    func request(_ definition: OrderDefinition, in reader: StoreReader) throws -> OrderRequest {
        let (model, version) = (reader.model, reader.modelVersion)
        let known = state.withLock { $0.version == version ? $0.orders[definition] : nil }
        if let known { return try definition.request(known, in: model) }
        let number = try model.number(of: definition.entity)
        let compiled = try definition.compiled(number, in: model, RecordPlacer(definition, number, in: model))
        state.withLock { state in
            if state.version != version || state.orders.count >= Self.mostOrders {
                state = State(version: version)
            }
            state.orders[definition] = compiled
        }
        return try definition.request(compiled, in: model)
    }
}
