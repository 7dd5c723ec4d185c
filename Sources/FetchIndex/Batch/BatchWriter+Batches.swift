internal import FetchIndexModels
package import FetchIndexRecords
internal import Synchronization

// Many records at once. The unique keys of a first import are written at its end, in their order.
extension BatchWriter {
    enum DeferralRule {
        case never
        /// The first batch decides: the entity has no objects, and the batch is not in the order of its keys.
        case inFirstBatch
        /// From the next batch on, if new keys of the last one went to many pages.
        case whenScattered(wasScattered: Bool)
    }

    enum Preparation: UInt8, AtomicRepresentable {
        case nothing, sortedKeys, hashes, both
    }

    struct Deferral {
        var seen: SeenKeys
        /// Records whose unique values, or their hashes, were seen before: they are written when the keys are.
        var repeated = RecordBatch()
        /// The slots whose stored values these keep.
        var kept: Set<Int> = []
        /// The number of the next object.
        var next: UInt64
        /// Whether there are objects with unique keys, which are looked up.
        let hasKeyed: Bool

        private static let mostRepeated = 50_000
        private static let mostBytes = 32 << 20

        var isFull: Bool {
            seen.isFull || repeated.count >= Self.mostRepeated || repeated.byteCount >= Self.mostBytes
        }
    }

    /// Prepares a batch for `write`, on any thread.
    package func prepare(_ batch: inout RecordBatch) throws {
        let preparation = preparation.load(ordering: .relaxed)
        if preparation != .nothing { try batch.describeParts(entity) }
        guard let constraint else { return }
        if preparation == .hashes || preparation == .both { try batch.hashKeys(entityNumber, entity, constraint) }
        if preparation == .sortedKeys || preparation == .both { try batch.sortKeys(entityNumber, entity, constraint) }
    }

    /// Inserts records, in their order, or updates the objects that have their keys. `done` gets each record's object number, or `refused` the
    /// error that its values cause; what these two throw ends the batch, and the records before are written. While unique keys are left
    /// out, `done` is not called, and errors of repeated values come with `commit`. `kept` are slots of which stored objects keep their
    /// values, beside those that each record leaves to them. `related` are the slots of
    /// references that the records have, also where these are null: a stored object keeps its others.
    package func write(
        _ batch: borrowing RecordBatch, keepingSlots kept: Set<Int> = [], relating related: Set<Int> = [],
        refused: (_ index: Int, StoreError) throws -> Void = { throw $1 },
        done: (_ index: Int, _ number: UInt64) throws -> Void
    ) throws {
        // A record that can only update an object is refused in its place.
        if batch.hasIncomplete { try stopDeferring() }
        if deferral == nil { try beginDeferral(batch) }
        deferral?.kept = kept
        if try writeDeferred(batch, refused) { return }
        // The batch says which objects are related by these slots, and nothing of others.
        let isPlain = related.isEmpty && kept.isEmpty && !batch.hasKeptSlots
        let kept = kept.union(isPlain ? [] : entity.relationshipSlots).subtracting(related)
        let merge: RecordMerge = { old, new, own in
            try self.entity.record(
                from: new, keeping: own.map { kept.isEmpty ? $0.slots : $0.slots.union(kept) } ?? kept, of: old)
        }
        let rule = constraint.map { WriteRule.update(by: [$0], merge: isPlain ? nil : merge) } ?? .insert
        let traits = try transaction().write(entityNumber, batch, rule, refused: refused) { index, outcome in
            note(outcome)
            try done(index, outcome.object.number)
        }
        preparation.store(traits.areMostUnchanged ? .nothing : .sortedKeys, ordering: .relaxed)
        if case .whenScattered = deferralRule {
            deferralRule = .whenScattered(wasScattered: traits.areKeysScattered)
        }
    }

    /// Leaves out unique keys, where the entity has no objects yet and records do not come in the order of their keys, from the first
    /// batch on or from a later one. Keys that come in order fill their pages one after the other anyway. Those left out are written by
    /// `commit`, and when there are `atMost` of them, since each takes 11 to 22 bytes of memory. Batches may be committed meanwhile.
    package func deferUniqueKeys(atMost most: Int = 12_000_000) {
        deferralRule = .inFirstBatch
        mostDeferred = most
    }

    private func beginDeferral(_ batch: borrowing RecordBatch) throws {
        if case .never = deferralRule { return }
        if batch.count == 0 { return }
        let state = try transaction().entityState(entityNumber)
        guard let constraint, try transaction().canDeferUniqueKeys(of: entityNumber, constraint) else {
            deferralRule = .never
            return
        }
        let rule = deferralRule
        deferralRule = .whenScattered(wasScattered: false)
        switch rule {
        case .never, .whenScattered(wasScattered: false): return
        case .whenScattered(wasScattered: true): break
        case .inFirstBatch:
            if state.count > 0 { deferralRule = .never }
            guard state.count == 0, batch.keys?.areInOrder == false else { return }
        }
        try transaction().beginUnkeyed(entityNumber)
        deferral = Deferral(
            seen: SeenKeys(most: mostDeferred), next: state.nextObject, hasKeyed: state.count > 0)
        preparation.store(state.count > 0 ? .both : .hashes, ordering: .relaxed)
    }

    /// Writes a batch without unique keys; false when they are not left out, or not any more.
    private func writeDeferred(
        _ batch: borrowing RecordBatch, _ refused: (Int, StoreError) throws -> Void
    ) throws -> Bool {
        guard deferral != nil, let constraint else { return false }
        let writer = try transaction()
        guard !writer.hasUniqueKeys(of: entityNumber),
            try writer.entityState(entityNumber).nextObject == deferral?.next
        else {
            // Another writer came between two batches, and has written the keys; it may come again.
            deferralRule = .never
            try endDeferral()
            return false
        }
        let hashes = try batch.keyHashes(entityNumber, entity, constraint)
        let isStored =
            deferral?.hasKeyed == true ? try writer.findStored(entityNumber, batch, by: constraint) : nil
        var isNew = [Bool](repeating: false, count: hashes.count)
        var failure: (any Error)?
        for (index, hash) in hashes.enumerated() {
            switch hash {
            case .noKey: isNew[index] = true
            case .hash(let hash):
                isNew[index] = isStored?[index] != true && deferral?.seen.insert(hash) == true
                if !isNew[index] { deferral?.repeated.append(batch[index], keeping: batch.keptSlots(at: index)) }
            case .tooLong:
                let name = entity.name(of: constraint)
                let error = StoreError.uniqueValueTooLong(entity: entity.name, attribute: name)
                do { try refused(index, error) } catch { failure = error }
            }
            if failure != nil { break }
        }
        try writer.appendUnkeyed(entityNumber, batch) { isNew[$0] }
        let added = isNew.count { $0 }
        deferral?.next += UInt64(added)
        counts.inserted += added
        if let failure { throw failure }
        // No copy of the hashes: their memory is needed for sorting the keys.
        let isFull = deferral?.isFull == true
        // Many repeated records would end it again and again.
        if isFull && deferral?.seen.isFull == false { deferralRule = .never }
        if isFull { try endDeferral() }
        return true
    }

    /// Writes the unique keys, and then the records that were put aside. The transaction stays open.
    func endDeferral() throws {
        // Not the hashes: their memory is needed for sorting the keys.
        guard let (repeated, kept) = deferral.map({ ($0.repeated, $0.kept) }) else { return }
        leaveDeferral()
        _ = try commitTransaction()
        // Beginning it writes the keys.
        try write(repeated, keepingSlots: kept) { _, _ in }
    }

    /// Writes the unique keys that were left out, and leaves out no more.
    package func stopDeferring() throws {
        deferralRule = .never
        try endDeferral()
    }

    func leaveDeferral() {
        deferral = nil
        preparation.store(.sortedKeys, ordering: .relaxed)
    }
}
