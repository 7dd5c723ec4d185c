import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// A new object with the same unique value as a stored object makes the save fail, or updates the stored object.
@Suite struct UpsertTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Part.self))
        context = store.container.newContext()
    }

    @discardableResult
    private func part(
        _ code: String, _ kind: String? = nil, _ size: Int? = nil, note: String? = nil,
        in other: ManagedObjectContext? = nil
    ) -> Part {
        let part = Part(context: other ?? context)
        (part.code, part.kind, part.size) = (code, kind, size)
        if let note { part.note = note }
        return part
    }

    private func listing() throws -> [String] {
        let context = store.container.newContext()
        return try context.fetch(FetchRequest<Part>(sortKeys: [SortKey(\.code)])).map { part in
            "\(part.objectID) \(part.code) \(part.kind ?? "-") \(part.size.map { "\($0)" } ?? "-") \(part.note ?? "-")"
        }
    }

    @Test func attributesThatAreUniqueTogetherMayRepeatIndividually() throws {
        part("a", "bolt", 1)
        part("b", "bolt", 2)
        part("c", "nut", 1)
        // If one of the values is null, the combination may repeat.
        part("d", "nut")
        part("e", "nut")
        try context.save()
        let clash = part("f", "bolt", 2)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            error.description
                == "objects cannot be saved: new Part \(clash.objectID.description.dropFirst(4)): "
                + "kind, size must be unique together, but another object has \"bolt, 2\"")
        clash.size = 3
        try context.save()
        clash.size = 1
        #expect(throws: ValidationError.self) { try context.save() }
        try context.rollback()
        #expect(try listing().count == 6)
    }

    @Test func objectsMayExchangeValuesThatAreUniqueTogether() throws {
        let (a, b) = (part("a", "bolt", 1), part("b", "bolt", 2))
        try context.save()
        (a.size, b.size) = (2, 1)
        try context.save()
        #expect(try listing() == ["#1 a bolt 2 -", "#2 b bolt 1 -"])
        context.delete(a)
        part("c", "bolt", 2)
        try context.save()
        #expect(try listing() == ["#2 b bolt 1 -", "#3 c bolt 2 -"])
    }

    @Test func aModelWithOtherOrInvalidUniqueAttributesIsRefused() throws {
        let url = URL(fileURLWithPath: store.folder.path)
        let entity = try #require(store.container.model().entity(named: "Part"))
        #expect(entity.uniqueAttributes == [["kind", "size"]])
        part("a", "bolt", 1)
        try context.save()
        #expect(throws: StoreError.self) {
            try PersistentContainer(at: url, model: Model(entities: [Entity("Part", entity.attributes)]))
        }
        for unique in [["kind", "kind"], ["kind", "colour"], []] {
            #expect(throws: StoreError.self, "\(unique)") {
                let model = Model(entities: [Entity("Other", entity.attributes, unique: [unique])])
                _ = try PersistentContainer(at: url, model: model)
            }
        }
        #expect(try store.reopened().model().entity(named: "Part") == entity)
    }

    @Test func aSaveUpdatesTheStoredObjectWithTheSameUniqueValue() throws {
        part("a", "bolt", 1, note: "old").stock = 7
        try context.save()
        let other = store.container.newContext()
        other.onUniqueConflict = .update
        let new = Part(context: other)
        (new.code, new.size, new.kind) = ("a", 5, nil)
        try other.save()
        #expect(new.objectID.number == 1)
        #expect(!new.hasChanges)
        // Note and stock were not set, and kind was set to null.
        #expect(new.note == "old")
        #expect(new.stock == 7)
        #expect(try listing() == ["#1 a - 5 old"])
        new.note = "newer"
        try other.save()
        #expect(try listing() == ["#1 a - 5 newer"])
    }

    /// A value whose setting was undone counts as not set.
    @Test func anUpsertKeepsStoredValuesWhoseEditWasUndone() throws {
        part("a", "bolt", 1, note: "old").stock = 7
        try context.save()
        let other = store.container.newContext()
        other.onUniqueConflict = .update
        other.isUndoEnabled = true
        let new = Part(context: other)
        new.code = "a"
        other.processPendingChanges()
        new.note = "undone"
        other.processPendingChanges()
        #expect(other.undo())
        #expect(other.undo())
        #expect(other.redo())
        try other.save()
        #expect(try listing() == ["#1 a bolt 1 old"])
        #expect(new.stock == 7)
        #expect(!other.undo())
    }

    @Test func anUpsertMayOmitRequiredValuesThatAreStored() throws {
        let entity = Entity(
            "Need",
            [
                AttributeDescription("code", .string, isUnique: true),
                AttributeDescription("name", .string, isOptional: false), AttributeDescription("note", .string),
            ])
        let container = try PersistentContainer(temporaryWith: Model(entities: [entity]))
        let context = container.newContext()
        context.onUniqueConflict = .update
        for (code, name, isRight) in [("a", "A", true), ("a", nil, true), ("b", nil, false)] {
            let object = try context.insert("Need")
            object["code"] = .string(code)
            if let name { object["name"] = .string(name) }
            if isRight { try context.save() } else { #expect(throws: ValidationError.self) { try context.save() } }
        }
        try context.rollback()
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Need"))
        #expect(objects.map { $0["name"] } == ["A"])
        let known = try #require(objects.first)
        let clearing = try context.insert("Need")
        clearing["code"] = "a"
        clearing["name"] = "B"
        clearing["name"] = .null
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(known["name"] == "A")
    }

    @Test func anUpsertUpdatesTheContextsOwnObject() throws {
        let known = part("a", "bolt", 1, note: "old")
        try context.save()
        context.onUniqueConflict = .update
        known.note = "edited"
        let new = part("z", "bolt", 1)
        try context.save()
        #expect(known.code == "z")
        #expect(known.note == "edited")
        #expect(new.managedObjectContext == nil)
        #expect(new.code == "z")
        #expect(!context.hasChanges)
        #expect(try listing() == ["#1 z bolt 1 edited"])
    }

    @Test func anUpsertThatMatchesTwoStoredObjectsOrAnotherNewObjectIsAnError() throws {
        part("a", "bolt", 1)
        part("b", "bolt", 2)
        try context.save()
        context.onUniqueConflict = .update
        part("a", "bolt", 2)
        #expect(throws: ValidationError.self) { try context.save() }
        try context.rollback()
        part("c")
        part("c")
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(try listing() == ["#1 a bolt 1 -", "#2 b bolt 2 -"])
    }

    @Test func batchInsertsUpdateStoredObjectsByAttributesThatAreUniqueTogether() throws {
        part("a", "bolt", 1, note: "old")
        try context.save()
        let rows: [[Value]] = [
            ["b", "bolt", 1, "new", 0], ["c", "bolt", 2, nil, 0], ["c", "nut", 2, nil, 0],
        ]
        var request = BatchInsertRequest(entityName: "Part", rows: rows)
        #expect(throws: StoreError.self) { try context.execute(request) }
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == 3)
        #expect(try listing() == ["#1 b bolt 1 new", "#2 c nut 2 -"])
    }

    @Test func aBatchInsertUpdatesTheObjectsWithItsUniqueValues() throws {
        let store = try LiveStore(Model(Account.self))
        let context = store.container.newContext()
        let rows: [[Value]] = [["a", .null, 1], ["b", .null, 2]]
        #expect(try context.execute(BatchInsertRequest(entityName: "Account", rows: rows)) == 2)
        var request = BatchInsertRequest(
            entityName: "Account", rows: [["b", .null, 3], ["c", .null, 4], ["a", .null, 1]] as [[Value]])
        #expect(throws: StoreError.self) { try context.execute(request) }
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == 2)
        let sorted = FetchRequest<Account>(sortKeys: [SortKey(\.name)])
        #expect(try context.fetch(sorted).map(\.balance) == [1, 3, 4])
    }

    @Test func anUpsertReplacesTheNewRowByTheUpdatedOneInAController() throws {
        part("a", note: "old")
        part("c")
        try context.save()
        let live = store.container.newContext()
        live.onUniqueConflict = .update
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Part>(sortKeys: [SortKey(\.code)]), context: live, cacheName: "parts")
        let recorder = Recorder<Part> { "\($0.objectID) \($0.code)" }
        controller.delegate = recorder
        try controller.performFetch()
        let new = part("a", note: "new", in: live)
        live.processPendingChanges()
        let temporary = "\(new.objectID)"
        #expect(recorder.take() == ["will change", "\(temporary) a insert - 0.1", "did change"])
        try live.save()
        #expect(
            recorder.take() == [
                "will change", "\(temporary) a delete 0.1 -", "#1 a update 0.0 0.0", "did change",
            ])
        #expect(controller.fetchedObjects?.map { "\($0.objectID)" } == ["#1", "#2"])
        #expect(controller.object(at: RowPath(section: 0, row: 0)) === new)
        #expect(new.note == "new")
    }

    /// Random saves with new, edited and deleted objects. After each save, the store and a live controller must have
    /// the rows that `PartTable` computes.
    @Test(arguments: 1...6) func randomSavesGiveTheRowsThatPartTableComputes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var table = PartTable()
        context.onUniqueConflict = .update
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Part>(sortKeys: [SortKey(\.code)]), context: context,
            sectionKey: .attribute("kind"), cacheName: "parts")
        try controller.performFetch()
        for step in 0..<120 {
            let comment: Comment = "seed \(seed), step \(step)"
            let edits = try randomEdits(&generator, table)
            if Bool.random(using: &generator) { context.processPendingChanges() }
            if let next = table.saving(edits) {
                try context.save()
                table = next
            } else {
                #expect(throws: ValidationError.self, comment) { try context.save() }
                try context.rollback()
            }
            #expect(try listing() == table.listing, comment)
            let rows = controller.fetchedObjects?.map { "\($0.objectID) \($0.code)" }.sorted()
            #expect(rows == table.rows.map { "#\($0.key) \($0.value.code)" }.sorted(), comment)
            if step % 40 == 39 { try context.reset() }
        }
    }

    private func randomEdits(_ generator: inout SeededGenerator, _ table: PartTable) throws -> PartTable.Edits {
        var edits = PartTable.Edits()
        func row() -> PartTable.Row {
            PartTable.Row(
                code: "c\(Int.random(in: 0..<12, using: &generator))",
                kind: ["bolt", "nut", nil].randomElement(using: &generator) ?? nil,
                size: Bool.random(using: &generator) ? Int.random(in: 0..<4, using: &generator) : nil)
        }
        var left = table.rows.keys.sorted()
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            guard let number = left.randomElement(using: &generator) else { break }
            left.removeAll { $0 == number }
            let stored = try context.existingObject(
                with: context.objectID(of: "Part", number: number), as: Part.self)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                context.delete(stored)
                edits.deleted.append(number)
            } else {
                let row = row()
                (stored.code, stored.kind, stored.size) = (row.code, row.kind, row.size)
                edits.updated[number] = row
            }
        }
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            let row = row()
            part(row.code, row.kind, row.size)
            edits.inserted.append(row)
        }
        return edits
    }
}
