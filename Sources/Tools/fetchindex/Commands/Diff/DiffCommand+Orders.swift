internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexModels
internal import FetchIndexTerminal

// Orders of catalogues: both are loaded into a temporary store, one after the other.
extension DiffCommand {
    private static let start = "first"

    /// Prints the changes of an order, with places. Returns whether the catalogues' orders are equal.
    func printOrder(
        of name: String, _ sources: [Source], _ key: String, in container: PersistentContainer
    ) throws -> Bool {
        let bar = ProgressBar("loading")
        var first: UInt64 = 0
        for index in sources.indices {
            try load(index, of: sources, into: container, as: name, key, bar)
            if index == 0 { first = try container.newestCommit() }
        }
        bar.finish()
        guard try container.model().entity(named: name) != nil else {
            try printEmptyOrder(of: name)
            return true
        }
        try container.setBookmark(named: Self.start, at: .commit(first))
        return try printOrder(of: name, container)
    }

    /// Prints the whole document of two empty catalogues.
    private func printEmptyOrder(of name: String) throws {
        if summary {
            try SummaryReport(hasSections: request.section != nil).print(ofCache: title, asJSON: output == .json)
        } else if output.isReport {
            var document = ChangeDocument(title: title, subtitle: "", most: limit)
            document.end(subtitle: subtitle)
            try document.print(as: output)
        } else {
            try print(ChangeReport(.hit, .zero, ChangeDetails(entity: name)))
        }
    }

    /// Prints the changes of an order as a table, JSON, CSV or TSV.
    private func print(_ report: ChangeReport) throws {
        if let format = output.catalogue { return try report.printRows(as: format) }
        if output == .json { return try report.printJSON() }
        try report.printLines()
    }

    /// Loads a catalogue. The second one replaces the first one: rows lose the values that they lack.
    private func load(
        _ index: Int, of sources: [Source], into container: PersistentContainer, as name: String, _ key: String,
        _ bar: ProgressBar
    ) throws {
        var request = try importRequest(of: sources[index], into: container, as: name, key)
        let isFirst = try container.model().entity(named: name) == nil
        if isFirst {
            request.types = try types(of: sources)
        } else {
            request.addsColumns = true
            request.clearsMissing = true
            request.mostDeleted = 100
        }
        do {
            _ = try CatalogueImport(request).run { bar.show(rows: $0, fraction: $1) }
        } catch let error as UnreadableFile where error.isEmpty {
            if !isFirst { try BatchWriter(container, entity: name).deleteAll() }
        } catch let error as ImportStopped {
            throw failure(error.cause, sources)
        } catch let error as ImportError { throw error.asTold }
    }

    private func printOrder(of name: String, _ container: PersistentContainer) throws -> Bool {
        let definition = try request.definition(of: name)
        let bar = ProgressBar("sorting")
        let start = ContinuousClock.now
        return try container.withOrder(
            definition, request.orderOptions(cacheName: nil, bar, author: "diff")
        ) { (order: FetchedOrder) in
            let first = try order.commit(of: .bookmark(Self.start))
            let change = try order.changes(since: .commit(first))
            bar.finish()
            if output.isReport {
                var document = ChangeDocument(title: title, subtitle: subtitle, most: limit)
                try document.add(change, order, definition, since: first)
                try document.print(as: output)
                return change.isEmpty
            }
            let details = ChangeDetails(definition, order, since: first, withValues: output != .table)
            let report = ChangeReport(change, ContinuousClock.now - start, details)
            if summary {
                try report.summary(of: change, order).print(ofCache: title, asJSON: output == .json)
            } else {
                try print(report)
            }
            return change.isEmpty
        }
    }
}

extension BatchWriter {
    /// Deletes all objects of the writer's entity.
    fileprivate func deleteAll() throws {
        var numbers: [UInt64] = []
        try forEachNumber { number in
            numbers.append(number)
            return true
        }
        for number in numbers {
            if let object = try object(number: number) { try delete(object) }
        }
        try commit()
    }
}
