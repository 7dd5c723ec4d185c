internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexValues

extension FetchedOrder {
    /// Calls the body with the rows in which this order and another one of the same request differ, by the fingerprints
    /// that both keep: rows of this order with values that no row of the other has, and rows of the other with values that
    /// this one lacks. A changed object has a row in each. The other order may belong to another store.
    ///
    /// Only ranges of rows whose fingerprints differ are read: O(k log n) descents for k such rows among n, each of O(log
    /// n), plus the rows with the same section and sort keys as one of them. Throws `RequestError` if an order keeps no
    /// fingerprint, if the two have other attributes or requests, or if the request leads to related objects: its sort
    /// keys may then change although the row's own values don't. Also throws `StoreError`, and rethrows the body's errors.
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

    func requireComparable(to other: FetchedOrder) throws {
        for order in [self, other] where !order.opened.order.shape.aggregates.hasFingerprint {
            throw RequestError.malformed(
                "orders can only be compared if both keep a fingerprint; an order of \(order.entity.name) has none")
        }
        if builder.readsRelated {
            throw RequestError.malformed(
                "orders can only be compared if no predicate, sort key or section key leads to related objects")
        }
        let (own, others) = (try attributes(), try other.attributes())
        for (entity, types) in own where others[entity] != types {
            throw RequestError.malformed(
                "the two orders have different attributes of \(entity), or different types of them")
        }
        guard own.count == others.count, placesOfRows == other.placesOfRows else {
            throw RequestError.malformed("the two orders have different requests, so their rows cannot be compared")
        }
    }

    /// The predicate, the sort keys and the section key, as texts. The order of the sections doesn't matter.
    private var placesOfRows: [String] {
        guard let identity = builder.identity else { return [] }
        let section = identity.section.split(separator: " ").dropLast().joined(separator: " ")
        return [identity.predicate, identity.sort, section]
    }

    /// The types of the attributes of all entities whose objects may be among the rows.
    private func attributes() throws -> [String: [String: ValueType]] {
        let entities = [entity] + others.values.map(\.entity)
        return Dictionary(
            uniqueKeysWithValues: entities.map { entity in
                (entity.name, Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0.type) }))
            })
    }
}
