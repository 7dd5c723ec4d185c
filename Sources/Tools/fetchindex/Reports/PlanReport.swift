internal import FetchIndex
internal import FetchIndexInspection

/// The report of `fetch --explain`: the way in which rows were found, and the number of records to read for it.
struct PlanReport: Encodable {
    struct Plan: Encodable {
        /// The way in which the rows were found: scan, order, uniqueKey, related or identifiers; cache if the fetch's
        /// own cache was used.
        let source: String
        var name: String?
        var attribute: String?
        /// The number of looked-up values or ranges of the attribute.
        var lookUps: Int?
        /// Whether the records are read in the order of the sort keys, until enough rows match.
        let isInOrder: Bool
        /// The number of records to read to find the rows. For a computed order, it is a maximum, or an estimate if a
        /// scan skips records. It is 0 for a hit, the number of all records for a rebuild, and the number of changed
        /// rows for a catch-up.
        let rowsRead: Int
        /// The number of the entity's records, with those of its subentities if they are fetched.
        let rowCount: Int
        let rowsMatched: Int
    }

    let outcome: OutcomeReport
    let plan: Plan
    private let sentence: String

    /// Takes the plan that was made before the order was opened. `firstRows` is the number of records to read if the
    /// fetch only needs the objects with the lowest numbers; otherwise nil.
    init(
        _ planned: FetchPlan, _ order: FetchedOrder, cacheName: String?, _ outcome: OutcomeReport, firstRows: Int? = nil
    ) {
        // A case for each outcome and each source of rows.
        self.outcome = outcome
        func plan(
            _ source: String, name: String? = nil, attribute: String? = nil, isInOrder: Bool = false, rowsRead: Int
        ) -> Plan {
            Plan(
                source: source, name: name, attribute: attribute, lookUps: attribute.map { _ in planned.lookUpCount },
                isInOrder: isInOrder, rowsRead: rowsRead, rowCount: planned.rowCount, rowsMatched: order.memberCount)
        }
        switch (order.outcome, planned.source) {
        case (.hit, _):
            sentence = "the cache \"\(cacheName ?? "")\", which is current"
            self.plan = plan("cache", name: cacheName, rowsRead: 0)
        case (.caughtUp, _), (.pending, _):
            sentence = "the cache \"\(cacheName ?? "")\", caught up from the log"
            let change = if case .caughtUp(let change) = order.outcome { change } else { ResultsChange() }
            self.plan = plan("cache", name: cacheName, rowsRead: change.rows.count)
        case (.rebuilt, _):
            // A cache is built from all records, so the plan isn't used.
            sentence = "scan of all records"
            self.plan = plan("scan", rowsRead: planned.rowCount)
        case (.computed, .scan) where firstRows.map { $0 < planned.rowCount } ?? false:
            sentence = "scan of the first records"
            self.plan = plan("scan", rowsRead: firstRows ?? 0)
        case (.computed, .scan):
            sentence = "\(planned)"
            self.plan = plan("scan", rowsRead: planned.rowsRead)
        case (.computed, .order(let name, let attribute)):
            sentence = "\(planned)"
            self.plan = plan(
                "order", name: name, attribute: attribute, isInOrder: planned.isInOrder, rowsRead: planned.rowsRead)
        case (.computed, .uniqueKey(let attribute)):
            sentence = "\(planned)"
            self.plan = plan(
                "uniqueKey", attribute: attribute, isInOrder: planned.isInOrder, rowsRead: planned.rowsRead)
        case (.computed, .related(let path)):
            sentence = "\(planned)"
            self.plan = plan("related", attribute: path, rowsRead: planned.rowsRead)
        case (.computed, .identifiers):
            sentence = "\(planned)"
            self.plan = plan("identifiers", rowsRead: planned.rowsRead)
        }
    }

    private enum CodingKeys: String, CodingKey { case outcome, plan }

    var lines: [String] {
        [
            outcome.sentence, "plan: \(sentence.visible)",
            "rows read: \(Numbers.grouped(plan.rowsRead)) of \(Numbers.grouped(plan.rowCount))",
            "rows matched: \(Numbers.grouped(plan.rowsMatched))",
        ]
    }
}
