internal import Records

extension FetchedResultsController: ContextFollower {
    var isLive: Bool { live != nil }
    var entity: Int? { live?.request.builder.entity }

    var followed: CacheDirectory.Followed? {
        guard let live, let name = live.name else { return nil }
        return CacheDirectory.Followed(name: name, request: live.request)
    }

    func advance(_ renumbered: [ObjectID: ObjectID], _ step: (inout LiveOrder) throws -> OrderChange) {
        guard var order = live else { return }
        #if DEBUG
            let old = Self.provenRows(of: order)
        #endif
        do {
            var change = try step(&order)
            live = order
            change.renumbered = try rowsRenumbered(renumbered)
            #if DEBUG
                if let old, let new = Self.provenRows(of: order) {
                    let proven = change.replay(on: old.map { $0.map { renumbered[$0] ?? $0 } })
                    precondition(proven == new, "A change must lead from the old rows to the new ones.")
                }
            #endif
            undelivered = change
        } catch {
            // The step met damage. The records give the new state: what is told is how the rows differ.
            do {
                let mended = try mend(order)
                undelivered = try live?.change(to: mended, renumbered: renumbered)
                live = mended
            } catch {
                fail(error)
            }
        }
    }

    /// Those of the new ids that are among the rows.
    private func rowsRenumbered(_ ids: [ObjectID: ObjectID]) throws -> [ObjectID: ObjectID] {
        guard let live, !ids.isEmpty else { return [:] }
        return try ids.filter { _, id in
            guard id.entity == live.request.builder.entity, let record = managedObjectContext.viewedRecord(of: id)
            else { return false }
            return try live.window.position(of: id, record, live.request.builder.placer) != nil
        }
    }

    #if DEBUG
        /// The rows of orders that are small enough to prove each change on them.
        private static func provenRows(of order: LiveOrder) -> [[ObjectID]]? {
            order.window.rowCount <= 100_000 ? try? order.window.objects() : nil
        }
    #endif

    func deliver() {
        if isFailureUndelivered, let failure {
            isFailureUndelivered = false
            undelivered = nil
            delegate?.controller(self, didFailWith: failure)
        }
        guard let change = undelivered else { return }
        undelivered = nil
        guard !change.isEmpty || !change.renumbered.isEmpty else { return }
        for (number, stream) in streams {
            if case .terminated = stream.yield(change) { streams[number] = nil }
        }
        guard let delegate else { return }
        if let snapshotDelegate {
            snapshotDelegate.controller(self, didChangeContentWith: snapshot)
            return
        }
        if change.isEmpty { return }
        delegate.controllerWillChangeContent(self)
        for event in change.sections { tell(delegate, event) }
        for event in change.rows { tell(delegate, event) }
        delegate.controllerDidChangeContent(self)
        delegate.controller(self, didChange: change)
    }

    private func tell(_ delegate: any FetchedResultsControllerDelegate<Object>, _ event: ResultsChange.SectionEvent) {
        switch event {
        case .delete(let from, let name):
            delegate.controller(self, didChangeSection: name, at: from, for: .delete, newIndex: nil)
        case .insert(let to, let name):
            delegate.controller(self, didChangeSection: name, at: nil, for: .insert, newIndex: to)
        case .move(let from, let to, let name):
            delegate.controller(self, didChangeSection: name, at: from, for: .move, newIndex: to)
        }
    }

    private func tell(_ delegate: any FetchedResultsControllerDelegate<Object>, _ event: ResultsChange.RowEvent) {
        switch event {
        case .delete(let id, let from):
            delegate.controller(self, didChange: object(.some(id)), at: from, for: .delete, newIndexPath: nil)
        case .insert(let id, let to):
            delegate.controller(self, didChange: object(.some(id)), at: nil, for: .insert, newIndexPath: to)
        case .move(let id, let from, let to):
            delegate.controller(self, didChange: object(.some(id)), at: from, for: .move, newIndexPath: to)
        case .update(let id, let from, let to):
            delegate.controller(self, didChange: object(.some(id)), at: from, for: .update, newIndexPath: to)
        }
    }
}
