internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// The links to an object, as the context sees them: the snapshot's links, plus the links that unsaved edits add, minus
/// the links that unsaved edits remove. Reading the list doesn't load objects. The costs below assume that the
/// context has found its `linkEdits`.
struct LinkList {
    /// The place of a link in the list.
    struct Place: Comparable {
        let sortKey: [UInt8]
        let holder: RecordKey
        /// The holder of an unsaved link, which stays the same object when a save changes its key.
        var object: ManagedObject?

        static func == (left: Place, right: Place) -> Bool { left.sortKey == right.sortKey }
        static func < (left: Place, right: Place) -> Bool { left.sortKey.lexicographicallyPrecedes(right.sortKey) }

        /// The object that a many-to-many link joins with the list's object; nil if the sort key can't be read.
        var other: RecordKey? {
            let bytes = sortKey.span.bytes
            guard let length = OrderKey.lengthOfFirst(in: bytes) else { return nil }
            return OrderKey.first(in: bytes.extracting(length..<bytes.byteCount)).flatMap { RecordKey($0.value) }
        }

        /// The link's position in an ordered relationship; nil if the link has no position.
        var position: [UInt8]? {
            guard case .data(let position)? = OrderKey.first(in: sortKey.span.bytes)?.value else { return nil }
            return [UInt8](position)
        }
    }

    let context: ManagedObjectContext
    let name: EntityLinks.Name
    let target: RecordKey

    private var side: LinkEdits.Side { LinkEdits.Side(name: name, target: target) }

    private var added: LinkEdits.Added? { context.currentLinkEdits().added[side] }
    private var removed: Set<RecordKey> { context.currentLinkEdits().removed[side] ?? [] }

    /// The number of links. O(log n).
    var count: Int { savedCount + (added?.sortKeys.count ?? 0) - removed.count }

    private var savedCount: Int {
        if target.isTemporary { return 0 }
        return context.noting { try context.snapshot().linkCount(name, to: target) } ?? 0
    }

    /// The first link, or the first link after a place. O(log n + links to the object that unsaved edits add or
    /// remove).
    func first(after last: Place? = nil) -> Place? {
        let saved = firstSaved(after: last)
        let new = added?.places.filter { place in last.map { $0 < place } ?? true }.min()
        return [saved, new.map(withObject)].compactMap { $0 }.min()
    }

    private func withObject(_ place: Place) -> Place {
        Place(sortKey: place.sortKey, holder: place.holder, object: context.registeredObject(for: place.holder))
    }

    private func firstSaved(after last: Place?) -> Place? {
        let removed = removed
        var saved: Place?
        forEachSaved(after: last?.sortKey) { place in
            if removed.contains(place.holder) { return true }
            saved = place
            return false
        }
        return saved
    }

    /// The last link, or the last link before a place. O(log n + links to the object that unsaved edits add), and O(log
    /// n) more for each removed link at the end.
    func last(before end: Place? = nil) -> Place? {
        let added = added
        let new: Place? =
            if let end { added?.places.filter { $0 < end }.max() } else { added?.last }
        return [lastSaved(before: end), new].compactMap { $0 }.max()
    }

    private func lastSaved(before end: Place? = nil) -> Place? {
        let removed = removed
        var bound = end?.sortKey
        while !target.isTemporary {
            let found = context.noting { try context.snapshot().lastLink(name, to: target, before: bound) } ?? nil
            guard let (holder, sortKey) = found else { return nil }
            if !removed.contains(holder) { return Place(sortKey: sortKey, holder: holder) }
            bound = sortKey
        }
        return nil
    }

    private func forEachSaved(after last: [UInt8]?, _ body: (Place) -> Bool) {
        if target.isTemporary { return }
        context.noting {
            try context.snapshot().forEachLink(name, to: target, after: last) { holder, sortKey in
                body(Place(sortKey: [UInt8](copying: sortKey), holder: holder))
            }
        }
    }

    /// Finds the link that joins the list's object with another object in a many-to-many relationship; nil if they
    /// aren't linked. O(log n x (1 + links that unsaved edits remove)) if the links have no positions, otherwise
    /// O(links x log n).
    func place(ofOther other: RecordKey) -> Place? {
        if let place = added?.place(ofOther: other) { return place }
        var lowest: [UInt8] = []
        OrderKey.appendNull(to: &lowest)
        OrderKey.append(other.reference, to: &lowest)
        var place = firstSaved(after: Place(sortKey: lowest, holder: other))
        if place?.other == other { return place }
        // Links with positions come after links without, so the last link tells whether any link has a position.
        guard lastSaved()?.position != nil else { return nil }
        place = firstSaved(after: nil)
        while let found = place, found.other != other { place = firstSaved(after: found) }
        return place
    }

    /// Iterates over the links in order. Reads up to 256 saved links at a time, not counting removed ones.
    struct Iterator: IteratorProtocol {
        private static let pieceLength = 256

        private let list: LinkList
        private let removed: Set<RecordKey>
        private var added: ArraySlice<Place>
        private var piece: ArraySlice<Place> = []
        private var last: [UInt8]?
        private var isAtEnd = false

        init(_ list: LinkList) {
            self.list = list
            let edits = list.context.currentLinkEdits()
            removed = edits.removed[list.side] ?? []
            added = (edits.added[list.side].map { Array($0.places) } ?? []).sorted().map(list.withObject)[...]
        }

        mutating func next() -> Place? {
            if piece.isEmpty && !isAtEnd { readPiece() }
            guard let saved = piece.first else { return added.popFirst() }
            guard let first = added.first, first < saved else { return piece.popFirst() }
            return added.popFirst()
        }

        private mutating func readPiece() {
            var places: [Place] = []
            var seen = 0
            let removed = removed
            var last = last
            list.forEachSaved(after: last) { place in
                seen += 1
                last = place.sortKey
                if !removed.contains(place.holder) { places.append(place) }
                return places.count < Self.pieceLength
            }
            self.last = last
            isAtEnd = places.count < Self.pieceLength
            piece = places[...]
        }
    }
}
