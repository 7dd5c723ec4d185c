internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

extension FetchedResultsController: ContextFollower {
    var isLive: Bool { live != nil }
    var entities: [Int] { live?.dependencies ?? [] }

    /// Throws if rows, or objects on which rows depend, may belong to subentities in the new model that the order
    /// doesn't include.
    func requireEntities(in model: Model) throws {
        guard let request = live?.request else { return }
        let known = Set(entities)
        for number in entities where model.entities.indices.contains(number) {
            if number == request.builder.entity, !request.identity.includesSubentities { continue }
            guard known.isSuperset(of: model.hierarchy(of: number)) else {
                throw StoreError.modelMismatch(
                    entity: model.entities[number].name, "it has other subentities than before; use a new context")
            }
        }
    }

    /// The cache that the context catches up for this controller; nil if the controller has no order in a cache, or if
    /// it needs the exact change, because it then advances the cache only in `settle`.
    var followed: CacheRequest? { needsExactChange ? nil : live?.cache }

    func advance(
        _ renumbered: [RecordKey: RecordKey], _ edits: [RecordChange],
        _ step: (LiveOrder) throws -> OrderChange<RecordKey>
    ) {
        guard let order = live else { return }
        #if DEBUG
            let old = Self.provenRows(of: order)
        #endif
        do {
            let told = try rowsRenumbered(renumbered, edits, in: order)
            var change = try step(order)
            change.renumbered = told
            #if DEBUG
                if let old, let new = Self.provenRows(of: order) {
                    let proven = change.replay(on: old.map { $0.map { renumbered[$0] ?? $0 } })
                    precondition(proven == new, "A change must lead from the old rows to the new ones.")
                }
            #endif
            version &+= 1
            undelivered = change
            merged = change
        } catch {
            recompute(order, renumbered, edits)
        }
    }

    /// Recomputes the order from the records after an update has failed. The change is the difference between the old
    /// and the new rows; if it can't be computed, the change is reported as unknown (`rebuilt`).
    private func recompute(_ order: LiveOrder, _ renumbered: [RecordKey: RecordKey], _ edits: [RecordChange]) {
        let repaired: LiveOrder
        do { repaired = try recompute(order) } catch { return fail(error) }
        let updated = Set(edits.lazy.filter { $0.old != $0.new }.map(\.object))
        do {
            undelivered = try order.change(to: repaired, updated: updated, renumbered: renumbered)
        } catch {
            undelivered = OrderChange(rebuilt: .damaged)
        }
        undelivered?.renumbered = renumbered
        merged = undelivered
        shown = .repaired(repaired)
    }

    /// The new keys of objects that may be or have been members of the order, by their old keys. Keys of objects
    /// outside of the window of limit and offset are included, because the window may have shown the old ids.
    private func rowsRenumbered(
        _ ids: [RecordKey: RecordKey], _ edits: [RecordChange], in order: LiveOrder
    ) throws -> [RecordKey: RecordKey] {
        if ids.isEmpty { return [:] }
        var told: Set<RecordKey> = []
        for edit in edits where edit.object != edit.oldObject {
            if try order.isMember(edit.object, edit.old) || order.isMember(edit.object, edit.new) {
                told.insert(edit.oldObject)
            }
        }
        return ids.filter { told.contains($0.key) }
    }

    #if DEBUG
        /// The rows of an order, if it's small enough for a check: debug builds verify changes by replaying them on the
        /// old rows.
        private static func provenRows(of order: LiveOrder) -> [[RecordKey]]? {
            order.window.rowCount <= 100_000 ? try? order.window.objects() : nil
        }
    #endif

    /// Delivers the change that hasn't been delivered yet, if any. A change that arises during the delivery is
    /// delivered after it.
    func deliver() {
        managedObjectContext.delivery.tell(self) { tellAll() }
    }

    private func tellAll() {
        if case .failure(let failure, isTold: false) = shown {
            shown = .failure(failure, isTold: true)
            // Listeners that keep a copy of the rows must read the rows again.
            undelivered = OrderChange(rebuilt: .damaged)
            delegate?.controller(self, didFailWith: failure)
        }
        while let change = undelivered {
            undelivered = nil
            if change.isEmpty && change.renumbered.isEmpty { continue }
            tell(change.identified { managedObjectContext.id(of: $0) })
        }
    }

    private func tell(_ change: ResultsChange) {
        noteChange()
        for (number, stream) in streams {
            if case .terminated = stream.yield(change) { streams[number] = nil }
        }
        guard let delegate else { return }
        if let snapshotDelegate {
            snapshotDelegate.controller(self, didChangeContentWith: snapshot)
            return
        }
        delegate.controllerWillChangeContent(self)
        for event in change.sections {
            delegate.controller(
                self, didChangeSection: event.name, at: event.from, for: event.kind, newIndex: event.to)
        }
        for event in change.rows {
            delegate.controller(
                self, didChange: object(event.id.key), at: event.from, for: event.kind, newIndexPath: event.to)
        }
        delegate.controllerDidChangeContent(self)
        delegate.controller(self, didChange: change)
    }
}
