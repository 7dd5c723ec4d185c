internal import FetchIndexOrderCaches
public import FetchIndexModels
public import FetchIndexValues
/// The sections of a controller's current results, which are read on demand.
public struct ResultsSections<Object: ManagedObject>: RandomAccessCollection {
    private let controller: FetchedResultsController<Object>

    init(_ controller: FetchedResultsController<Object>) { self.controller = controller }

    public var startIndex: Int { 0 }
    public var endIndex: Int { controller.sectionCount }

    /// The section at an index. O(log n). Traps if no section has the index.
    public subscript(index: Int) -> ResultsSection<Object> {
        controller.requireSection(index)
        let columns = controller.live?.window.order.shape.aggregates ?? .none
        return ResultsSection(controller, index, controller.read { try $0.section(at: index) } ?? .empty, columns)
    }

    /// Iterates over the sections, reading them in batches that grow to 64 sections. Each batch costs O(log n + its
    /// sections). Unless damage is found, the loop ends at the current end of the results, even if they shrink during
    /// the loop.
    public struct Iterator: IteratorProtocol {
        private static var mostAtOnce: Int { 64 }

        private let controller: FetchedResultsController<Object>
        private var index = 0
        /// Sections that were read in advance, the next one last. They are used only while the controller's version is
        /// `version`.
        private var read: [OrderSection] = []
        private var columns = AggregateColumns.none
        private var sectionsAtOnce = 1
        private var version = -1
        /// The number of sections when the loop began. If damage is found, the loop returns this many sections;
        /// unreadable sections are empty.
        private let expectedCount: Int

        fileprivate init(_ controller: FetchedResultsController<Object>) {
            self.controller = controller
            expectedCount = controller.sectionCount
        }

        public mutating func next() -> ResultsSection<Object>? {
            if version != controller.version || read.isEmpty { readOn() }
            let isDamaged = controller.shown.hasMetDamage
            guard index < (isDamaged ? expectedCount : controller.sectionCount) else { return nil }
            defer { index += 1 }
            return ResultsSection(controller, index, read.popLast() ?? .empty, columns)
        }

        private mutating func readOn() {
            sectionsAtOnce = version == controller.version ? Swift.min(2 * sectionsAtOnce, Self.mostAtOnce) : 1
            let (index, most) = (index, sectionsAtOnce)
            read =
                index < controller.sectionCount
                ? controller.read { try $0.reversedSections(from: index, most) } ?? [] : []
            version = controller.version
            columns = controller.live?.window.order.shape.aggregates ?? .none
        }
    }

    public func makeIterator() -> Iterator { Iterator(controller) }
}

/// A section of a controller's results. Its name, counts and undamaged aggregates stay as they were when the section
/// was read; `objects` reads the current results.
public struct ResultsSection<Object: ManagedObject> {
    fileprivate let controller: FetchedResultsController<Object>
    fileprivate let index: Int
    private let section: OrderSection
    /// The related object by which the rows are grouped; nil if the section key isn't a relationship, and for the
    /// section of rows without a related object.
    public let objectID: ObjectID?
    private let columns: AggregateColumns

    /// The section's value, or the name of its related object, as plain text; "" for null, and if the controller has no
    /// section key.
    public var name: String { section.name }
    /// The number of rows in the section.
    public var count: Int { section.count }
    /// The number of rows in all preceding sections.
    public var rowsBefore: Int { section.rowsBefore }

    fileprivate init(
        _ controller: FetchedResultsController<Object>, _ index: Int, _ section: consuming OrderSection,
        _ columns: AggregateColumns
    ) {
        self.controller = controller
        self.index = index
        objectID = section.object.map { controller.managedObjectContext.id(of: $0) }
        self.section = section
        self.columns = columns
    }

    public var indexTitle: String? { controller.sectionIndexTitle(forSectionName: name) }

    /// The rows of the section that has this section's index in the controller's current results, read on demand. After
    /// the results have changed, that may be another section.
    public var objects: ResultsObjects<Object> { ResultsObjects(controller, sectionIndex: index) }

    /// An aggregate of the section's rows. O(1), unless the aggregate is damaged. Null if the controller's `failure`
    /// prevents reading it. Without a failure, traps if the section was read for a request without the aggregate.
    public func aggregate(_ aggregate: Aggregate<Object>) -> Value {
        if let result = aggregate.function.result,
            let column = columns.index(for: aggregate.function, of: aggregate.attribute),
            let value = try? columns.value(
                result, at: column, of: section.valueAndSummary, from: section.valueLength)
        {
            return value
        }
        return otherAggregate(aggregate)
    }

    /// A fingerprint, and what the fast path above can't read.
    @inline(never)
    private func otherAggregate(_ aggregate: Aggregate<Object>) -> Value {
        guard columns.contains(aggregate) else {
            precondition(controller.failure != nil, "The request doesn't have this aggregate.")
            return .null
        }
        if let value = try? columns.value(of: aggregate, in: section.valueAndSummary, from: section.valueLength) {
            return value
        }
        // The summary is damaged. If it's still damaged when it's read again, the controller recomputes its results.
        return controller.read { try columns.value(of: aggregate, in: $0.section(at: index).summary) } ?? .null
    }
}

/// The rows of a section, or of all sections, in the controller's current results, read on demand. To change the
/// results in a loop over the rows, copy the rows to an array first.
public struct ResultsObjects<Object: ManagedObject>: RandomAccessCollection {
    private let controller: FetchedResultsController<Object>
    private let sectionIndex: Int?

    init(_ controller: FetchedResultsController<Object>, sectionIndex: Int?) {
        self.controller = controller
        self.sectionIndex = sectionIndex
    }

    public var startIndex: Int { 0 }

    public var endIndex: Int {
        guard let sectionIndex else { return controller.rowCount }
        return sectionIndex < controller.sectionCount ? controller.sections[sectionIndex].count : 0
    }

    /// Iterates over the rows. The loop ends at the current end of the rows, even if they shrink during the loop.
    public struct Iterator: IteratorProtocol {
        let objects: ResultsObjects
        var row = 0

        public mutating func next() -> Object? {
            guard row < objects.endIndex else { return nil }
            defer { row += 1 }
            return objects[row]
        }
    }

    public func makeIterator() -> Iterator { Iterator(objects: self) }

    /// The object of a row. O(log n). An object that the context doesn't have yet is made as a fault.
    public subscript(row: Int) -> Object {
        guard let sectionIndex else { return controller.object(atRow: row) }
        return controller.object(at: RowPath(section: sectionIndex, row: row))
    }
}

/// A copy of the results: the section names and the ids of the rows.
public struct ResultsSnapshot: Hashable, Sendable {
    public let sectionNames: [String]
    /// The ids of the related objects by which the rows are grouped, which distinguish sections with equal names. Nil
    /// for the section of rows without a related object; nil for all sections if the section key isn't a relationship.
    public let sectionObjectIDs: [ObjectID?]
    /// The ids of the rows, by section.
    public let objectIDs: [[ObjectID]]
}

extension ResultsChange {
    /// The change of results without sections as a `CollectionDifference` of two lists of ids. A move becomes a removal
    /// and an insertion that are associated with each other. Updates and replaced ids (`renumbered`) aren't included,
    /// and the difference is empty for an unknown change (`rebuilt`). Nil if the change has events of sections, or of
    /// rows outside of the first section.
    public var collectionDifference: CollectionDifference<ObjectID>? {
        let isPlain = rows.allSatisfy { ($0.from?.section ?? 0) == 0 && ($0.to?.section ?? 0) == 0 }
        guard sections.isEmpty, isPlain else { return nil }
        var changes: [CollectionDifference<ObjectID>.Change] = []
        for event in rows {
            switch event {
            case .delete(let id, let from): changes.append(.remove(offset: from.row, element: id, associatedWith: nil))
            case .insert(let id, let to): changes.append(.insert(offset: to.row, element: id, associatedWith: nil))
            case .move(let id, let from, let to):
                changes.append(.remove(offset: from.row, element: id, associatedWith: to.row))
                changes.append(.insert(offset: to.row, element: id, associatedWith: from.row))
            case .update: break
            }
        }
        return CollectionDifference(changes)
    }
}
