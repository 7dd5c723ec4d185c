internal import FetchIndexEssentials
package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexRecords
internal import FetchIndexValues

/// Makes a store's objects a copy of another program's object graph, in one transaction: objects are matched by entity and
/// number; what differs is written, and objects that the graph lacks are deleted, without delete rules. First delete,
/// then write the rows of all tables, then the links of all joins, then commit. If it `savesInParts`, many rows of tables
/// that never had objects are written in several transactions, because the memory of a transaction grows with the pages
/// that it changes.
///
/// For modules that read files of other programs, whose objects refer to each other in any direction. Users write with
/// ``BatchWriter``.
///
/// `RowWriter` writes the rows of files and of PostgreSQL. It can't write a graph: it finds objects by their keys, keeps what
/// a row leaves out, and decides about each row alone. In a graph each object has a number, a link that isn't given is
/// gone, and two objects may take each other's unique values or partners, because only the whole graph must be valid.
package final class ObjectGraphWriter {
    let container: PersistentContainer
    let author: String
    private(set) var writer: StoreWriter
    package internal(set) var counts = BatchWriter.Counts()
    /// The numbers of links of joins that were added, given other positions, and removed.
    package internal(set) var joinCounts = BatchWriter.Counts()
    /// A link that is made after all rows were written.
    struct LaterLink {
        let holder: RecordKey
        /// The place of the relationship in the references of the holder's entity. There may be millions of links, and a
        /// reference is larger.
        let place: Int
        let link: RowLink
        /// Whether the holder is counted as inserted or updated already.
        let isCounted: Bool
    }

    var later: [LaterLink] = []
    /// Objects that are counted as updated because of a later link.
    var linkedLater: Set<RecordKey> = []
    /// The bytes of records that the transaction has inserted into new tables.
    private var insertedBytes = 0
    private static let mostBytes = 32 << 20
    var deleted: [RecordKey] = []
    /// Objects whose unique values others have taken.
    var robbed: Set<RecordKey> = []
    var joinState = JoinState()

    /// The model with all rules, to which the store is migrated after all objects are written.
    var finalModel = Model()
    /// Whether new tables may be written in several transactions.
    package var savesInParts = false

    /// Waits until other writers have ended, and begins the transaction. Throws `StoreError`.
    package init(in container: PersistentContainer, author: String) throws {
        (self.container, self.author) = (container, author)
        writer = try withPublicErrors { try container.store.beginWrite(author: author) }
        writer.acceptsMissingReferences = true
    }

    /// The newest commit when the transaction began, or when it last ended one.
    package var newestCommit: UInt64 { writer.commit }

    // MARK: Model

    /// Migrates the store to a model, to which all objects of its entities will be written, so that their stored values
    /// don't matter: what they don't allow is removed and added again. Rules that they may break are kept from the end
    /// on. Throws `StoreError`, for example for an entity that gets another superentity.
    package func migrate(to model: Model) throws {
        try withPublicErrors {
            let model = model.withoutFormerNames(ofKnownIn: storedModel)
            finalModel = model
            if let renamed = writer.model.withEntityNames(of: model) {
                try migrate(exactly: renamed)
            }
            if let cleared = writer.model.withoutConflicts(with: model) { try migrate(exactly: cleared) }
            try migrate(exactly: relaxed(model).replacing(storedModel))
        }
    }

    var storedModel: Model { writer.model.described }

    private func relaxed(_ model: Model) throws -> Model {
        let stored = storedModel
        return try model.relaxed(for: stored) { name in
            let number = try writer.model.number(of: name)
            return try writer.model.family(of: number).contains { try writer.entityState($0).count > 0 }
        }
    }

    func migrate(exactly model: Model) throws {
        var migration = Migration.demanded
        migration.allowsPasses = true
        try container.migrate(to: model, migration, in: writer, author: author)
    }

    /// The store's model, migrated.
    package var model: Model { writer.model }

    // MARK: Tables

    /// The tables of entities, in the order in which their rows must be written: as far as possible, an object is
    /// written after those to which it refers. Throws `StoreError` if the store lacks an entity.
    package func tables(of names: [String]) throws -> [GraphTable] {
        try withPublicErrors {
            let model = writer.model
            var numbers = try names.map { try model.number(of: $0) }
            var ordered: [Int] = []
            func add(_ number: Int) {
                guard let place = numbers.firstIndex(of: number) else { return }
                numbers.remove(at: place)
                for reference in references(of: number) { reference.destinations.sorted().forEach(add) }
                ordered.append(number)
            }
            while let first = numbers.first { add(first) }
            return try ordered.enumerated().map { place, number in
                GraphTable(
                    entityNumber: number, entity: model.entities[number], references: references(of: number),
                    isNew: try model.family(of: number).allSatisfy { try writer.entityState($0).nextObject == 1 },
                    written: Set(ordered[..<place]))
            }
        }
    }

    /// The numbers of an entity's objects that aren't in a set, in ascending order, and the number of all objects. O(n).
    package func missing(from numbers: SeenObjects, _ table: GraphTable) throws -> (missing: [UInt64], all: Int) {
        if table.isNew { return ([], 0) }
        return try withPublicErrors {
            var missing: [UInt64] = []
            var all = 0
            try writer.scan(table.entityNumber) { object, _ in
                all += 1
                if !numbers.contains(object.number) { missing.append(object.number) }
                return true
            }
            return (missing, all)
        }
    }

    /// Deletes objects. Must be called before rows are written. O(log n) for each.
    package func delete(_ numbers: [UInt64], of table: GraphTable) throws {
        try withPublicErrors {
            for number in numbers {
                let object = RecordKey(entity: table.entityNumber, number: number)
                guard try writer.remove(object) != nil else { continue }
                deleted.append(object)
                counts.deleted += 1
            }
        }
    }

    /// Counts objects as unchanged whose rows aren't given, because the graph's source says so.
    package func noteUnchanged(_ count: Int) { counts.unchanged += count }

    // MARK: Rows

    /// Writes the next rows of a table. O(k log n) for k rows. Throws `StoreError`.
    package func write(_ batch: GraphBatch) throws {
        try withPublicErrors {
            let table = batch.table
            if table.isNew {
                try writer.write(table.entityNumber, batch.records, .insert, as: batch.numbers) { _, _ in }
                counts.inserted += batch.count
                for link in batch.later {
                    let holder = RecordKey(entity: table.entityNumber, number: batch.numbers[link.row])
                    later.append(
                        LaterLink(holder: holder, place: link.place, link: link.link, isCounted: true))
                }
                return try noteInserted(batch.records)
            }
            var rest = batch.later[...]
            for row in 0..<batch.count {
                let own = rest.prefix { $0.row == row }
                rest = rest.dropFirst(own.count)
                try write(row, of: batch, Array(own))
            }
        }
    }

    private func write(_ row: Int, of batch: GraphBatch, _ links: [GraphBatch.LaterLink]) throws {
        let table = batch.table
        let object = RecordKey(entity: table.entityNumber, number: batch.numbers[row])
        if links.isEmpty { return counts.add(try write(batch.records[row], as: object)) }
        let old = try writer.copy(of: object)
        var pending: [GraphBatch.LaterLink] = []
        var values: [Int: Value] = [:]
        for link in links {
            let reference = table.references[link.place]
            if let made = try self.values(of: link.link, reference, old, table) {
                values.merge(made) { $1 }
            } else {
                pending.append(link)
            }
        }
        let record = try table.entity.record(batch.records[row], setting: values)
        let outcome = try write(record.span.bytes, as: object)
        counts.add(outcome)
        for link in pending {
            later.append(
                LaterLink(holder: object, place: link.place, link: link.link, isCounted: !outcome.isUnchanged))
        }
    }

    private func write(_ record: RawSpan, as object: RecordKey) throws -> WriteOutcome {
        var isSame = false
        let isThere = try writer.record(object) { isSame = $0.isEqual(to: record) }
        if isSame { return .unchanged(object) }
        robbed.formUnion(try writer.takeUniqueKeys(of: record, for: object))
        if !isThere {
            return .inserted(try writer.insert(object.entity, record, as: object.number, mayReturn: true))
        }
        return try writer.update(object, record) ? .updated(object) : .unchanged(object)
    }

    /// Ends the transaction if it has inserted many bytes into new tables, and begins the next one.
    func noteInserted(_ records: borrowing RecordBatch) throws {
        insertedBytes += records.byteCount
        guard savesInParts, insertedBytes >= Self.mostBytes else { return }
        insertedBytes = 0
        writer = try writer.commitAndBeginNext(author: author)
        writer.acceptsMissingReferences = true
        container.store.releasePages()
    }

    /// The values of a link's slots, if the link can be made now: its object is stored, and no other object may have it.
    private func values(
        of link: RowLink, _ reference: EntityLinks.Reference, _ old: [UInt8]?, _ table: GraphTable
    ) throws -> [Int: Value]? {
        if reference.isUnique {
            guard let old else { return nil }
            let target = try RecordView(old.span.bytes, of: table.entity).integer(at: reference.slot)
            guard target == Int64(bitPattern: link.object.rawValue) else { return nil }
        } else if try !writer.record(link.object, { _ in }) {
            return nil
        }
        return link.values(in: reference)
    }
}

extension RowLink {
    /// The values of a reference's slots.
    func values(in reference: EntityLinks.Reference) -> [Int: Value] {
        [reference.slot: object.reference, reference.position: position.map { .data(Data($0)) } ?? .null]
    }
}
