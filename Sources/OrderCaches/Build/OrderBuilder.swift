internal import FetchIndexSorting
internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexCountedTree
internal import FetchIndexLMDB
package import FetchIndexRecords
internal import FetchIndexValues

/// Computes the rows of an order from records of its entity, and of its subentities if the order includes them. Builds
/// the whole order or its first rows, walks over the members, and computes changes of rows.
package struct OrderBuilder {
    package static let defaultMemoryBudget = 256 << 20

    /// The entity that the order's request names.
    package let entity: Int
    package let shape: OrderShape
    /// The subentities whose objects are in the order too, in ascending order.
    package let subentities: [Int]
    private let placers: RowPlacers
    /// Makes the headings of sections; nil unless sections are objects.
    package let headings: SectionHeadings?
    /// The memory for sorting row keys, in bytes. If it's exceeded, keys are sorted on disk in the store's folder.
    package var memoryBudget = OrderBuilder.defaultMemoryBudget
    /// Whether mapped pages of the data file are released while records are read. Only builds of caches do this,
    /// because they don't need the pages again. The next scan must map the pages again, which takes time.
    var releasesPages = false
    /// Whether the order has no sort keys, so that the rows of each section are ordered by entity and object number.
    package var isByNumber = false
    /// Whether the order has no predicate, so that all objects are members.
    package var hasAll = false
    /// The identity of the order's cache; nil if the order belongs to no request.
    package var identity: CacheIdentity?
    /// Called from time to time. `done` is about the number of records that were read, `total` the number of all
    /// records to be read.
    package var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

    /// The key paths through relationships that placing an object reads.
    package let paths: [RelatedPath]
    /// The entities whose changes may change the order, in ascending order: the entities of its rows, and those of
    /// other objects whose records it reads.
    package let dependencies: [Int]
    /// Whether placing an object reads records of other objects.
    package var hasPaths: Bool { !paths.isEmpty }
    /// Whether placing an object or making a heading reads records of other objects. If the sections are objects that
    /// the rows refer to directly, the order may have headings but no paths.
    package var readsRelated: Bool { hasPaths || headings != nil }

    /// `paths` are the key paths of all placers. A placer is created when it's first needed: reading a built order
    /// needs none.
    package init(
        entity: Int, subentities: [Int] = [], shape: OrderShape, paths: [RelatedPath] = [], dependencies: [Int],
        headings: SectionHeadings? = nil, makePlacer: @escaping (_ entity: Int) throws -> any RowPlacer
    ) {
        self.entity = entity
        self.subentities = subentities
        self.shape = shape
        self.paths = paths
        self.dependencies = dependencies
        self.headings = headings
        placers = RowPlacers(makePlacer)
    }

    /// The entities whose objects are in the order, in ascending order.
    package var entities: [Int] { subentities.isEmpty ? [entity] : (subentities + [entity]).sorted() }

    func has(_ number: Int) -> Bool { number == entity || subentities.contains(number) }

    /// The placer of an entity; nil if its objects aren't in the order.
    package func placer(of number: Int) throws -> (any RowPlacer)? { has(number) ? try placers[number] : nil }

    /// The entity of all rows; nil if rows may be of several entities, and so each row key names its entity.
    var rowEntity: Int? { subentities.isEmpty ? entity : nil }
    var placement: RowPlacement { RowPlacement(namesEntity: !subentities.isEmpty) }

    /// Builds the order: places the selected records, sorts the row keys, and fills the trees with them. O(n log n).
    package func build(
        from reader: StoreReader, _ selection: RecordSelection = .all, in nodes: any NodeStore
    ) throws -> SectionedOrder {
        try build(in: nodes, reader) { try forEachSortedKey(from: reader, selection, $0) }
    }

    /// Builds only the first rows of an order without sections and aggregates, and also counts all members if wanted;
    /// otherwise the count is nil. O(n log k) for k of n rows. If the order has no sort keys, reading stops soon after
    /// the last wanted row, unless the order has a predicate and all members are counted.
    func buildFirst(
        _ wanted: WantedRows, from reader: StoreReader, _ selection: RecordSelection, in nodes: any NodeStore
    ) throws -> (order: SectionedOrder, memberCount: Int?) {
        let count = wanted.countsAll && hasAll ? try Int(clamping: reader.count(of: entities)) : nil
        // If the number of rows is known, they needn't be counted.
        let wanted = WantedRows(most: wanted.most, countsAll: wanted.countsAll && count == nil)
        var sortedCount = 0
        let order = try build(in: nodes, reader) { body in
            if isByNumber && !wanted.countsAll {
                return try forEachFirst(wanted.most, reader, selection, body)
            }
            sortedCount = try forEachSortedKey(from: reader, selection, wanted: wanted) { key in try body(key) }
        }
        return (order, wanted.countsAll ? sortedCount : count)
    }

    /// Calls the body with the row keys of the first `most` members, by entity and object number.
    private func forEachFirst(
        _ most: Int, _ reader: StoreReader, _ selection: RecordSelection, _ body: (RawSpan) throws -> Void
    ) throws {
        var placement = placement
        // A local copy, because the closure would copy the builder for each row.
        let shape = shape
        var rest = most
        if rest == 0 { return }
        try walkMembers(of: reader, from: selection) { object in
            placement.begin()
            placement.finishEntry(object, in: shape)
            try body(placement.key.span.bytes)
            rest -= 1
            return rest > 0
        }
    }

    /// Builds the order from row keys that are already sorted. Reads headings in the reader's state.
    func build(from sorted: [KeySorter], _ reader: StoreReader, in nodes: any NodeStore) throws -> SectionedOrder {
        try build(in: nodes, reader) { try KeySorter.forEachSorted(of: sorted, $0) }
    }

    private func build(
        in nodes: any NodeStore, _ reader: StoreReader, _ forEachSortedKey: ((RawSpan) throws -> Void) throws -> Void
    ) throws -> SectionedOrder {
        var rows = TreeBuilder(in: nodes, summarizer: shape.summarizer)
        let sections = KeySorter(memoryBudget: memoryBudget / 4, folder: reader.store.sortingFolder)
        var headingsTree = TreeBuilder(in: nodes)
        var current = OpenSection(shape)
        func end(_ section: OpenSection) throws {
            let heading = try headings?.heading(of: section.value, in: reader)
            if let heading {
                let key = section.value + heading
                try headingsTree.append(key.span.bytes)
            }
            try sections.append(section.keyAndCount(shape, heading))
        }
        // A local copy, because the closure would copy the builder for each row.
        let shape = shape
        try forEachSortedKey { row in
            try SortedEntry.withParts(of: row, in: shape) { key, summary in
                try rows.append(key, summary: summary)
                guard shape.hasSections else { return }
                try current.add(key, summary) { try end($0) }
            }
        }
        if current.count > 0 { try end(current) }
        let roots = OrderRoots(
            rows: try rows.finish().root, sections: try build(sections, in: nodes).root,
            headings: try headingsTree.finish().root)
        return SectionedOrder(entity: rowEntity, shape: shape, in: nodes, roots)
    }

    /// A section to which rows are being added.
    struct OpenSection {
        var value: [UInt8] = []
        var firstRow: [UInt8] = []
        var count = 0
        private let sum: (any RunningSummary)?

        init(_ shape: OrderShape) { sum = shape.summarizer?.begin() }

        /// Creates a section whose summary isn't wanted.
        init() { sum = nil }

        /// Adds a row to the section. If the row belongs to another section, first calls `ended` with this section, if
        /// it has rows, and begins the row's section.
        mutating func add(_ key: RawSpan, _ summary: RawSpan, ended: (OpenSection) throws -> Void) throws {
            let isSame =
                count > 0 && key.byteCount > value.count
                && key.extracting(first: value.count).isEqual(to: value.span.bytes)
            if !isSame {
                if count > 0 { try ended(self) }
                guard let length = OrderKey.lengthOfFirst(in: key) else {
                    throw SectionedOrder.corrupted("a row key has no section")
                }
                value = [UInt8](copying: key.extracting(first: length))
                firstRow = [UInt8](copying: key.extracting(length..<key.byteCount))
                count = 0
            }
            count += 1
            try sum?.add(summary)
        }

        /// Returns the section's key, followed by its count and summary, which don't affect the order of sections. Must
        /// be called once per section, because it resets the summary.
        func keyAndCount(_ shape: OrderShape, _ heading: [UInt8]? = nil) -> [UInt8] {
            var key = shape.sectionKey(value: value, heading, firstRow: firstRow, count: count)
            key.appendBigEndian(UInt64(count))
            if let sum { SortedEntry.append(summary: sum.take(), to: &key) }
            return key
        }
    }

    private func build(_ sorter: KeySorter, in nodes: any NodeStore) throws -> CountedTree {
        var builder = TreeBuilder(in: nodes, isWeighted: true, summarizer: shape.summarizer)
        try sorter.forEachSorted { section in
            try SortedEntry.withParts(of: section, in: shape) { keyAndCount, summary in
                let end = keyAndCount.byteCount - 8
                let count = UInt64(bigEndian: keyAndCount.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self))
                try builder.append(keyAndCount.extracting(first: end), weight: Int(count), summary: summary)
            }
        }
        return try builder.finish()
    }
}

/// The placers of an order's entities. Each is created when it's first needed.
private final class RowPlacers {
    private let make: (Int) throws -> any RowPlacer
    private var made: [Int: any RowPlacer] = [:]
    private var last: (entity: Int, placer: any RowPlacer)?

    init(_ make: @escaping (Int) throws -> any RowPlacer) { self.make = make }

    subscript(entity: Int) -> any RowPlacer {
        get throws {
            if let last, last.entity == entity { return last.placer }
            let placer = try made[entity] ?? make(entity)
            made[entity] = placer
            last = (entity, placer)
            return placer
        }
    }
}

/// A row or a section while it's being sorted: its key and, in an order with aggregates, its summary and the summary's
/// length in 2 bytes, big-endian. No key is a prefix of another, so the bytes after the key don't affect the order.
enum SortedEntry {
    static func append(summary: [UInt8], to key: inout [UInt8]) {
        key.append(contentsOf: summary)
        key.append(UInt8(truncatingIfNeeded: summary.count >> 8))
        key.append(UInt8(truncatingIfNeeded: summary.count))
    }

    static func withParts(
        of entry: RawSpan, in shape: OrderShape, _ body: (_ key: RawSpan, _ summary: RawSpan) throws -> Void
    ) throws {
        if shape.aggregates.isEmpty { return try body(entry, RawSpan()) }
        let end = entry.byteCount - 2
        let length = Int(UInt16(bigEndian: entry.unsafeLoadUnaligned(fromByteOffset: end, as: UInt16.self)))
        try body(entry.extracting(first: end - length), entry.extracting(end - length..<end))
    }
}
