internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexValues

extension FetchedOrder {
    /// Calls the body with the rows in which this order and another one of the same request differ, by the fingerprints
    /// that both keep: rows of this order whose values no row of the other has, and rows of the other whose values no row
    /// of this one has. A changed object is among both. The other order may belong to another store.
    ///
    /// Only ranges of rows whose fingerprints differ are read: O(k log^2 n) for k such rows among n, plus the rows with
    /// the same section and sort keys as one of them. Throws `RequestError` if an order keeps no fingerprint, if the two
    /// have different attributes or if sections are related objects, whose numbers two stores need not share. Also throws
    /// `StoreError`, and rethrows the body's errors.
    public func forEachDifference(
        from other: FetchedOrder, _ body: (_ row: FetchedRow, _ isInOther: Bool) throws -> Void
    ) throws {
        try requireComparable(to: other)
        // Which of the two is damaged isn't known, so both are noted as damaged.
        try noting {
            try other.noting {
                try FingerprintComparison.forEachDifference(opened.order, other.opened.order) {
                    object, rank, isInOther in
                    let order = isInOther ? other : self
                    try order.withRow(object, try order.opened.order.path(atRank: rank)) { try body($0, isInOther) }
                }
            }
        }
    }

    private func requireComparable(to other: FetchedOrder) throws {
        for order in [self, other] where !order.opened.order.shape.aggregates.hasFingerprint {
            throw RequestError.malformed(
                "orders can only be compared if both keep a fingerprint; an order of \(order.entity.name) has none")
        }
        if builder.headings != nil {
            throw RequestError.malformed("orders whose sections are related objects cannot be compared")
        }
        let (own, others) = (Self.attributes(of: entity), Self.attributes(of: other.entity))
        if let (name, type) = own.first(where: { others[$0.key] != $0.value })
            ?? others.first(where: { own[$0.key] == nil })
        {
            throw RequestError.malformed(
                "the two orders have different attributes: not both have \(name) as \(type.nameWithArticle)")
        }
    }

    private static func attributes(of entity: Entity) -> [String: ValueType] {
        Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0.type) })
    }
}
