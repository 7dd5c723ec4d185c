import FetchIndex
import FetchIndexTestSupport
import Testing

/// Undo and redo of links, and of deletions that cascade.
@Suite struct RelationshipUndoTests {
    @Test func undoRestoresLinks() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        context.isUndoEnabled = true
        let writer = context.writer("w")
        let novel = context.novel("v", by: writer)
        let label = context.label("l")
        novel.labels.insert(label)
        try context.save()
        context.delete(novel)
        context.delete(writer)
        try context.save()
        #expect(context.undo())
        #expect(novel.writer === writer && Array(writer.novels) == [novel] && Array(novel.labels) == [label])
        try context.save()
        #expect(novel.writer === writer && Array(writer.novels) == [novel] && Array(label.novels) == [novel])
        #expect(context.redo())
        try context.save()
        #expect(try context.count(for: FetchRequest<Novel>()) == 0 && label.novels.isEmpty)
    }

    @Test func undoingAMoveDeletesNoObjects() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let root = context.folder("root")
        let child = context.folder("child", in: root)
        _ = context.folder("leaf", in: child)
        try context.save()
        context.isUndoEnabled = true
        child.name = "x"
        let new = context.folder("new")
        child.parent = new
        #expect(context.undo())
        #expect(child.name == "child" && child.parent === root && child.children.count == 1 && !child.isDeleted)
        #expect(context.redo())
        #expect(child.name == "x" && child.parent?.name == "new")
        try context.save()
        #expect(try context.count(for: FetchRequest<Folder>()) == 4)
    }

    /// A deletion cascades to a new object, and a merge comes between the deletion and its undo.
    @Test(arguments: [true, false]) func aDeletionThatCascadesToANewObjectCanBeUndoneAndRedoneAfterAMerge(
        isProcessed: Bool
    ) throws {
        let container = try PersistentContainer(
            temporaryWith: Model(entities: [
                Entity(
                    "Publisher", [AttributeDescription("name", .string)],
                    relationships: [RelationshipDescription("head", toOne: "Person", inverse: "headOf")]),
                Entity(
                    "Person", [AttributeDescription("name", .string)],
                    relationships: [
                        RelationshipDescription("headOf", toOne: "Publisher", inverse: "head", deleteRule: .cascade)
                    ]),
            ]))
        let (other, context) = (container.newContext(), container.newContext())
        context.isUndoEnabled = true
        let person = try context.insert("Person")
        try context.save()
        let publisher = try context.insert("Publisher")
        publisher["name"] = "n"
        publisher.relate("head", to: person)
        if isProcessed { context.processPendingChanges() }
        context.delete(person)
        #expect(publisher.isDeleted)
        _ = try other.insert("Publisher")
        try other.save()
        try context.mergeChanges()
        #expect(context.undo())
        #expect(!person.isDeleted || !isProcessed)
        while context.undo() {}
        while context.redo() {}
        try context.save()
        #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Publisher")).count >= 1)
    }
}
