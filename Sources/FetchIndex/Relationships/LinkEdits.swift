internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// The links that unsaved edits add to the saved links or remove from them, by the object to which the links lead.
struct LinkEdits {
    /// An object to which links lead, and the name of these links.
    struct Side: Hashable {
        let name: EntityLinks.Name
        let target: RecordKey
    }

    /// A link, with the key by which it is sorted among the links to the same object. The sort key has the form of
    /// stored links' keys: position, then the other joined object if the link is many-to-many, then holder.
    struct Link: Equatable {
        let side: Side
        let sortKey: [UInt8]
        /// The object that a many-to-many link joins with the target; nil for links of other relationships.
        let other: RecordKey?
    }

    /// The links that unsaved edits add to one object.
    struct Added {
        /// The sort keys of the links by their holders.
        private(set) var sortKeys: [RecordKey: [UInt8]] = [:]
        private var holdersByOther: [RecordKey: RecordKey] = [:]
        private var greatest: LinkList.Place?

        var places: some Sequence<LinkList.Place> {
            sortKeys.lazy.map { LinkList.Place(sortKey: $0.value, holder: $0.key) }
        }

        /// The last of these links, if any. O(1), but O(links) once the last link was removed.
        var last: LinkList.Place? { greatest ?? places.max() }

        func place(ofOther other: RecordKey) -> LinkList.Place? {
            guard let holder = holdersByOther[other], let sortKey = sortKeys[holder] else { return nil }
            return LinkList.Place(sortKey: sortKey, holder: holder)
        }

        mutating func insert(_ link: Link, _ holder: RecordKey) {
            let place = LinkList.Place(sortKey: link.sortKey, holder: holder)
            if sortKeys.isEmpty { greatest = place } else if let known = greatest, known < place { greatest = place }
            sortKeys[holder] = link.sortKey
            if let other = link.other { holdersByOther[other] = holder }
        }

        mutating func remove(_ link: Link, _ holder: RecordKey) {
            sortKeys[holder] = nil
            if greatest?.holder == holder { greatest = nil }
            if let other = link.other { holdersByOther[other] = nil }
        }
    }

    private(set) var added: [Side: Added] = [:]
    private(set) var removed: [Side: Set<RecordKey>] = [:]
    private var known: [RecordKey: [(saved: Link?, current: Link?)]] = [:]

    /// Records the links that an object with unsaved edits holds, each in its saved and its current state. These
    /// replace the links that were recorded for the object before.
    mutating func note(_ holder: RecordKey, _ links: [(saved: Link?, current: Link?)]) {
        for (saved, current) in known.removeValue(forKey: holder) ?? [] {
            if let saved {
                removed[saved.side]?.remove(holder)
                if removed[saved.side]?.isEmpty == true { removed[saved.side] = nil }
            }
            if let current {
                added[current.side]?.remove(current, holder)
                if added[current.side]?.sortKeys.isEmpty == true { added[current.side] = nil }
            }
        }
        let changed = links.filter { $0.saved != $0.current }
        if changed.isEmpty { return }
        known[holder] = changed
        for (saved, current) in changed {
            if let saved { removed[saved.side, default: []].insert(holder) }
            if let current { added[current.side, default: Added()].insert(current, holder) }
        }
    }

    /// The objects to which unsaved edits add, remove or move links.
    var targets: Set<RecordKey> { Set((Array(added.keys) + Array(removed.keys)).map(\.target)) }
}

extension ManagedObject {
    /// The links that the object's references make, with their saved and current states.
    func links() -> [(saved: LinkEdits.Link?, current: LinkEdits.Link?)] {
        guard let references = entity.links?.references, !references.isEmpty else { return [] }
        let isCurrent = status.isInserted || status.isSaved && !isGoneFromStore
        let wasSaved = status.hasBeenSaved && !isGoneFromStore
        // If the saved record can't be read, the object counts as having no saved links.
        let saved = wasSaved ? savedValues() : nil
        return references.map { reference in
            (
                saved: saved.flatMap { saved in link(reference) { saved[$0] } },
                current: isCurrent && (saved != nil || status.isInserted)
                    ? link(reference) { changes[$0] ?? saved?[$0] ?? .null } : nil
            )
        }
    }

    /// The saved values by slot; nil if they can't be read.
    private func savedValues() -> [Value]? {
        savedRecord().flatMap { try? entity.valuesBySlot(of: $0.span.bytes) }
    }

    /// The objects to which the object's references lead.
    var linkedTargets: [RecordKey] {
        (entity.links?.references ?? []).compactMap { RecordKey(lastValue(at: $0.slot)) }
    }

    /// The value of a relationship's slot, even for a deleted object; null if the value can't be read.
    func lastValue(at slot: Int) -> Value { changes[slot] ?? savedValues()?[slot] ?? .null }

    private func link(_ reference: EntityLinks.Reference, _ value: (Int) -> Value) -> LinkEdits.Link? {
        guard let target = RecordKey(value(reference.slot)) else { return nil }
        var sortKey: [UInt8] = []
        OrderKey.append(value(reference.position), to: &sortKey)
        let other = reference.other.map { value($0) }
        if let other { OrderKey.append(other, to: &sortKey) }
        for byte in stride(from: 56, through: 0, by: -8) {
            sortKey.append(UInt8(truncatingIfNeeded: key.rawValue >> UInt64(byte)))
        }
        return LinkEdits.Link(
            side: LinkEdits.Side(name: reference.name, target: target), sortKey: sortKey,
            other: other.flatMap { RecordKey($0) })
    }
}
