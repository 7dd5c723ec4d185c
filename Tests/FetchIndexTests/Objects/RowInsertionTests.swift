import FetchIndex
import FetchIndexTestSupport
import Testing

/// Batch insertions, most of them of more rows than one batch of records holds.
@Suite struct RowInsertionTests {
    private struct Stop: Error {}

    /// More than twice the length of a batch.
    private static let count = 20_000
    private let context: ManagedObjectContext

    init() throws {
        let item = Entity(
            "Item", [AttributeDescription("code", .string, isUnique: true), AttributeDescription("size", .integer)])
        let pair = Entity(
            "Pair",
            [
                AttributeDescription("left", .string, isUnique: true),
                AttributeDescription("right", .integer, isUnique: true),
            ])
        context = try PersistentContainer(temporaryWith: Model(entities: [item, pair])).newContext()
    }

    private static func code(_ row: Int) -> String { "code \(row * 7919 % count)" }

    private static func rows(_ size: Int) -> [[Value]] {
        (0..<count).map { [.string(code($0)), .integer(Int64(size))] }
    }

    private func sizes(where predicate: String) throws -> Int {
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.predicate = try FetchPredicate(predicate)
        return try context.count(for: request)
    }

    @Test func rowsAreInsertedInTheirOrderAndUpdated() throws {
        var request = BatchInsertRequest(entityName: "Item", rows: Self.rows(1))
        #expect(try context.execute(request) == Self.count)
        for row in [0, 8191, 8192, Self.count - 1] {
            let object = try context.existingObject(with: context.objectID(of: "Item", number: UInt64(row + 1)))
            #expect(object["code"] == .string(Self.code(row)))
        }
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == 0)
        request = BatchInsertRequest(entityName: "Item", rows: Self.rows(2) + [["new", 2]])
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == Self.count + 1)
        #expect(try sizes(where: "size == 2") == Self.count + 1)
    }

    @Test(arguments: [3, 8192, 19_999]) func noRowIsInsertedIfAUniqueValueRepeats(row: Int) throws {
        var rows = Self.rows(1)
        rows[row][0] = .string(Self.code(1))
        let error = StoreError.notUnique(entity: "Item", attribute: "code", value: Self.code(1))
        #expect(throws: error) { try context.execute(BatchInsertRequest(entityName: "Item", rows: rows)) }
        #expect(try sizes(where: "TRUEPREDICATE") == 0)
        #expect(try context.execute(BatchInsertRequest(entityName: "Item", rows: Self.rows(1))) == Self.count)
    }

    /// The error is the same as if the rows were written one by one.
    @Test func theErrorOfTheFirstBadRowIsThrown() throws {
        var rows: [[Value]] = [["a", 1], ["a", 2], [.null, "three"]]
        func insert() throws {
            var rows = rows.makeIterator()
            try context.insertRows(into: "Item") {
                guard let row = rows.next() else { throw Stop() }
                return row
            }
        }
        #expect(throws: StoreError.notUnique(entity: "Item", attribute: "code", value: "a")) { try insert() }
        rows[1] = ["b", 2]
        #expect(throws: StoreError.invalidValue(entity: "Item", attribute: "size", "is an integer, not a string")) {
            try insert()
        }
        rows[2] = [.null, 3]
        #expect(throws: Stop.self) { try insert() }
        #expect(try sizes(where: "TRUEPREDICATE") == 0)
    }

    /// Three rows have the same code: two successive rows, which are in one batch or in two, and the last row.
    @Test(arguments: [10, 8191]) func aRowUpdatesTheObjectOfAnEarlierRow(row: Int) throws {
        var rows = Self.rows(1)
        rows[row + 1] = [rows[row][0], 2]
        var request = BatchInsertRequest(entityName: "Item", rows: rows + [rows[row + 1]])
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == Self.count)
        #expect(try sizes(where: "TRUEPREDICATE") == Self.count - 1)
        let object = try context.existingObject(with: context.objectID(of: "Item", number: UInt64(row + 1)))
        #expect(object["size"] == 2)
    }

    /// Rows that have more bytes, together or each alone, than a batch holds.
    @Test(arguments: [1 << 16, 5 << 20]) func longRowsAreInserted(length: Int) throws {
        let note = Entity("Note", [AttributeDescription("text", .string)])
        let context = try PersistentContainer(temporaryWith: Model(entities: [note])).newContext()
        let rows = (0..<8 << 20 / length + 2).map { [Value.string("\($0)" + String(repeating: "x", count: length))] }
        #expect(try context.execute(BatchInsertRequest(entityName: "Note", rows: rows)) == rows.count)
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
        #expect(objects.map { $0["text"] } == rows.map { $0[0] })
    }

    @Test func aControllerGetsOneChangeForAllBatches() throws {
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.sortKeys = [SortKey("code")]
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        let recorder = Recorder<ManagedObject> { "\($0.objectID)" }
        controller.delegate = recorder
        try controller.performFetch()
        try context.execute(BatchInsertRequest(entityName: "Item", rows: Self.rows(1)))
        let events = recorder.take()
        #expect(events.count == Self.count + 2)
        #expect(events.first == "will change")
        #expect(events.last == "did change")
        #expect(controller.fetchedObjects?.count == Self.count)
    }

    @Test func aBatchInsertUpdatesAnObjectThatSharesOneUniqueValueWithARow() throws {
        var request = BatchInsertRequest(entityName: "Pair", rows: [["a", 1], ["b", 2]] as [[Value]])
        #expect(try context.execute(request) == 2)
        request = BatchInsertRequest(entityName: "Pair", rows: [["c", 3], ["d", 2]] as [[Value]])
        #expect(throws: StoreError.notUnique(entity: "Pair", attribute: "right", value: "2")) {
            try context.execute(request)
        }
        request = BatchInsertRequest(entityName: "Pair", rows: [["a", 5], ["c", 2], ["d", 4]] as [[Value]])
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == 3)
        var sorted = FetchRequest<ManagedObject>(entityName: "Pair")
        sorted.sortKeys = [SortKey("left")]
        let pairs = try context.fetch(sorted)
        #expect(pairs.map { [$0["left"], $0["right"]] } == [["a", 5], ["c", 2], ["d", 4]])
    }
}
