internal import SystemBasics
internal import Sorting
internal import Bytes
package import Models
package import CountedTree
internal import LMDB
package import Records
internal import Values

/// How an order is built from all records of its entity, and of its subentities where the order has them.
package struct OrderBuilder {
    package static let defaultMemoryBudget = 256 << 20

    /// The entity that the order is of.
    package let entity: Int
    package let shape: OrderShape
    /// Places records of the entity itself.
    package let placer: any RowPlacer
    /// The placers of the subentities whose objects are in the order too, by number.
    package let subentities: [Int: any RowPlacer]
    /// Bytes that keys being sorted may take; more are sorted on disk, in the store's folder.
    package var memoryBudget = OrderBuilder.defaultMemoryBudget
    /// Whether the mapped pages of the file are released while records are placed: memory that a build of a large cache does
    /// not need. Reading them again costs a fifth of a scan.
    var releasesPages = false
    /// Called from time to time with the number of records read and of all records.
    package var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

    package init(entity: Int, shape: OrderShape, placer: any RowPlacer, subentities: [Int: any RowPlacer] = [:]) {
        self.entity = entity
        self.shape = shape
        self.placer = placer
        self.subentities = subentities
    }

    /// The entities whose objects are in the order, in ascending order.
    package var entities: [Int] { subentities.isEmpty ? [entity] : ([entity] + subentities.keys).sorted() }

    /// Nil for an entity whose objects are not in the order.
    package func placer(of number: Int) -> (any RowPlacer)? { number == entity ? placer : subentities[number] }

    /// The entity of all rows; nil: each row names that of its object.
    var rowEntity: Int? { subentities.isEmpty ? entity : nil }
    var placement: RowPlacement { RowPlacement(namesEntity: !subentities.isEmpty) }

    /// Places every record, sorts the placements, and loads both trees from the sorted stream. O(n log n).
    package func build(
        from reader: StoreReader, _ source: RecordSource = .all, in nodes: any NodeStore
    ) throws -> SectionedOrder {
        var rows = TreeBuilder(in: nodes)
        let sections = KeySorter(memoryBudget: memoryBudget / 4, folder: reader.store.path)
        var current = OpenSection()
        // The closure would copy the builder for each row.
        let shape = shape
        try forEachSortedKey(from: reader, source) { key in
            try rows.append(key)
            guard shape.hasSections else { return }
            try current.add(key) { try sections.append($0.keyAndCount(shape)) }
        }
        if current.count > 0 { try sections.append(current.keyAndCount(shape)) }
        let roots = OrderRoots(rows: try rows.finish().root, sections: try build(sections, in: nodes).root)
        return SectionedOrder(entity: rowEntity, shape: shape, in: nodes, roots)
    }

    /// Hands out the row keys of all members in order. All records are read and sorted on several threads.
    func forEachSortedKey(
        from reader: StoreReader, _ source: RecordSource = .all, _ body: (RawSpan) throws -> Void
    ) throws {
        guard case .objects(let objects) = source else { return try forEachSortedKey(from: reader, body) }
        let sorter = KeySorter(memoryBudget: memoryBudget / 4 * 3, folder: reader.store.path)
        let total = objects.count
        var placement = placement
        var done = 0
        for entity in entities {
            guard let placer = placer(of: entity) else { continue }
            try reader.forEachRecord(of: entity, from: source) { object, record in
                placement.begin()
                if try placer.place(record, &placement) {
                    placement.finish(object)
                    try sorter.append(placement.key)
                }
                done += 1
                if done % 4096 == 0 { progress(done, total) }
                return true
            }
        }
        progress(done, total)
        try sorter.forEachSorted(body)
    }

    private func forEachSortedKey(from reader: StoreReader, _ body: (RawSpan) throws -> Void) throws {
        let total = try reader.count(of: entities)
        let scan = ParallelScan(of: reader, objects: total)
        let budget = memoryBudget / 4 * 3 / scan.threadCount
        let threads = try (0..<scan.threadCount).map { thread in
            let placers = try entities.map { try (thread == 0 ? placer(of: $0) : placer(of: $0)?.copy()) }
            return PlacingThread(
                placers: placers, placement: placement, passed: releasesPages ? PassedPages(of: reader.view) : nil,
                sorter: KeySorter(memoryBudget: budget, folder: reader.store.path))
        }
        var done = 0
        for (index, entity) in entities.enumerated() {
            for thread in threads { thread.begin(index) }
            try scan.forEachRecord(of: entity) { thread, _, object, record in
                try threads[thread].place(object, record)
                // The first thread is the caller's.
                guard thread == 0 else { return }
                done += 1
                if done % 4096 == 0 { progress(min(done * scan.threadCount, Int(total)), Int(total)) }
            }
        }
        progress(Int(total), Int(total))
        try KeySorter.forEachSorted(of: threads.map(\.sorter), body)
    }

    /// What a thread that places records has of its own.
    private final class PlacingThread {
        private let placers: [(any RowPlacer)?]
        private var placer: (any RowPlacer)?
        private var placement: RowPlacement
        private var passed: PassedPages?
        let sorter: KeySorter

        init(
            placers: [(any RowPlacer)?], placement: RowPlacement, passed: PassedPages?, sorter: KeySorter
        ) {
            self.placers = placers
            self.placement = placement
            self.passed = passed
            self.sorter = sorter
        }

        /// The records of the entity with this index come next.
        func begin(_ entity: Int) { placer = placers[entity] }

        func place(_ object: RecordKey, _ record: RawSpan) throws {
            passed?.pass(record)
            placement.begin()
            if try placer?.place(record, &placement) ?? false {
                placement.finish(object)
                try sorter.append(placement.key)
            }
        }
    }

    /// A section whose rows are coming in.
    struct OpenSection {
        var value: [UInt8] = []
        var firstRow: [UInt8] = []
        var count = 0

        /// Counts a row; calls the body with the finished section when the row begins another.
        mutating func add(_ key: RawSpan, ended: (OpenSection) throws -> Void) throws {
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
        }

        /// The section's key followed by its count, which never decides the order of two sections.
        func keyAndCount(_ shape: OrderShape) -> [UInt8] {
            var key = shape.sectionKey(value: value, firstRow: firstRow, count: count)
            key.appendBigEndian(UInt64(count))
            return key
        }
    }

    private func build(_ sorter: KeySorter, in nodes: any NodeStore) throws -> CountedTree {
        var builder = TreeBuilder(in: nodes, isWeighted: true)
        try sorter.forEachSorted { keyAndCount in
            let end = keyAndCount.byteCount - 8
            let count = UInt64(bigEndian: keyAndCount.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self))
            try builder.append(keyAndCount.extracting(first: end), weight: Int(count))
        }
        return try builder.finish()
    }
}

/// The records among which the members of an order are.
package enum RecordSource {
    /// All of the entity.
    case all
    /// Those of some objects, by number.
    case objects([RecordKey])

    var objects: [RecordKey]? { if case .objects(let objects) = self { objects } else { nil } }
}

extension StoreReader {
    /// Hands out an entity's records of a source until the body returns false. An object without a record is damage, unless it
    /// may be gone.
    func forEachRecord(
        of entity: Int, from source: RecordSource, unlessGone mayBeGone: (RecordKey) -> Bool = { _ in false },
        _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws {
        guard let objects = source.objects else { return try scan(entity, body) }
        // By number, so that those of an entity stand together.
        let first = objects.indices.firstNumber { objects[$0].entity >= entity }
        let end = objects.indices.firstNumber { objects[$0].entity > entity }
        var shouldContinue = true
        for object in objects[first..<max(first, end)] where shouldContinue {
            let isFound = try record(object) { shouldContinue = try body(object, $0) }
            if !isFound && !mayBeGone(object) {
                throw SectionedOrder.corrupted("a cache or unique key names object \(object.number), which is gone")
            }
        }
    }
}
