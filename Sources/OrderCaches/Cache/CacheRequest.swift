internal import Records

/// An order that is wanted: how to build it, and its fingerprint.
package struct OrderRequest {
    package var builder: OrderBuilder
    package let identity: CacheIdentity

    package init(builder: OrderBuilder, identity: CacheIdentity) {
        self.builder = builder
        self.identity = identity
    }
}

/// An order that is wanted under a cache's name.
package struct CacheRequest {
    package let name: String
    package let order: OrderRequest
    /// Whether the exact change is wanted at any cost, as long as the log reaches back. Else an order with too many changes
    /// is rebuilt.
    package let needsExactChange: Bool

    package init(name: String, order: OrderRequest, needsExactChange: Bool = false) {
        self.name = name
        self.order = order
        self.needsExactChange = needsExactChange
    }
}
