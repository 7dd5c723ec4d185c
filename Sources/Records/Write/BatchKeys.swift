internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// The objects to which the unique keys of a batch's records lead.
struct BatchKeys {
    enum Row {
        /// No object has the unique value, or a value of the record is null.
        case new
        /// An earlier record of the batch has the unique value.
        case same(as: Int)
        case stored(RecordKey)
        case tooLong
        case inserted(RecordKey)
        /// The object has these bytes already, and no other record of the batch changes it.
        case unchanged(RecordKey)

        var object: RecordKey? {
            switch self {
            case .stored(let object), .inserted(let object), .unchanged(let object): object
            case .new, .same, .tooLong: nil
            }
        }

        var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
    }

    private(set) var rows: [Row]
    /// Whether new keys go to many pages, and few to each.
    let areScattered: Bool
    /// New keys are scattered if fewer than `keysOfPage` go to a page on average, on at least `manyPages` pages.
    /// Sorting all keys of an import first costs less then.
    private static let (keysOfPage, manyPages) = (8, 32)
    private var hasInserted = false
    private let keys: RecordBatch.UniqueKeys?

    /// Looks up the keys in their order, except for records that are known to be unchanged.
    init(
        _ batch: borrowing RecordBatch, _ entity: Int, _ constraint: UniqueConstraint?, _ unchanged: UnchangedRows?,
        in writer: StoreWriter
    ) throws {
        var rows = [Row](repeating: .new, count: batch.count)
        if let unchanged, unchanged.count > 0 {
            for (row, number) in unchanged.numbers.enumerated() {
                if let number { rows[row] = .unchanged(RecordKey(entity: entity, number: number)) }
            }
        }
        if let constraint {
            let prepared = batch.keys?.constraint == constraint ? batch.keys : nil
            let keys =
                try prepared
                ?? RecordBatch.UniqueKeys(of: batch, entity, writer.model.entities[entity], constraint) {
                    !rows[$0].isUnchanged
                }
            for row in keys.tooLong { rows[row] = .tooLong }
            areScattered = try Self.find(keys, &rows, in: writer)
            if let unchanged, unchanged.count > 0 { Self.giveUpChanged(&rows) }
            self.keys = keys
        } else {
            keys = nil
            areScattered = false
        }
        self.rows = rows
    }

    /// Marks an unchanged record as stored if another record of the batch has its key: each is compared in its turn
    /// then.
    private static func giveUpChanged(_ rows: inout [Row]) {
        var found: Set<RecordKey> = []
        for case .stored(let object) in rows { found.insert(object) }
        if found.isEmpty { return }
        for (row, place) in rows.enumerated() {
            if case .unchanged(let object) = place, found.contains(object) { rows[row] = .stored(object) }
        }
    }

    /// Looks up the keys in their order. Returns whether the new ones are scattered.
    private static func find(
        _ keys: RecordBatch.UniqueKeys, _ rows: inout [Row], in writer: StoreWriter
    ) throws -> Bool {
        var last: [UInt8] = []
        var first = -1
        var newKeys = 0
        var pages = VisitedPages()
        try writer.view.withCursor(on: writer.tables.unique) { cursor in
            var (isAtKey, hasMore) = (false, true)
            try keys.forEach { key, row in
                if rows[row].isUnchanged { return }
                if first >= 0 && key.isEqual(to: last.span.bytes) {
                    rows[row] = .same(as: first)
                    return
                }
                first = row
                last.removeAll(keepingCapacity: true)
                last.appendBytes(key)
                // The cursor is at the first stored key that is not less than an earlier key of the batch.
                if hasMore, !isAtKey || cursor.key.compare(key) < 0 { hasMore = try cursor.seek(toKeyFrom: key) }
                isAtKey = true
                if hasMore && cursor.key.isEqual(to: key) {
                    rows[row] = .stored(try writer.object(unique: last, value: cursor.value))
                    return
                }
                newKeys += 1
                if hasMore { pages.visit(cursor) }
            }
        }
        return pages.count >= manyPages && pages.count * keysOfPage > newKeys
    }

    mutating func note(_ object: RecordKey, insertedFor row: Int) {
        rows[row] = .inserted(object)
        hasInserted = true
    }

    /// Notes that an object was inserted for a later record, because the first one with its unique value was refused.
    mutating func note(_ object: RecordKey, insteadOf first: Int) { rows[first] = .stored(object) }

    /// Writes the keys of the records that were inserted, in their order.
    func write(in writer: StoreWriter) throws {
        guard hasInserted else { return }
        try writer.view.withCursor(on: writer.tables.unique) { cursor in
            try keys?.forEach { key, row in
                guard case .inserted(let object) = rows[row] else { return }
                try StoreWriter.withUniqueValue(of: object, under: key) { try cursor.put($0, for: key) }
            }
        }
    }
}
