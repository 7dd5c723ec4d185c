import FetchIndex
import FetchIndexTestSupport
import Testing

/// Defects of sections by related objects that a program from outside has met, each as a test.
@Suite struct SectionRegressionTests {
    private static let countries = Model(entities: [
        Entity(
            "Country", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("publishers", toMany: "Publisher", inverse: "country")]),
        Entity(
            "Publisher", [AttributeDescription("rank", .integer)],
            relationships: [RelationshipDescription("country", toOne: "Country", inverse: "publishers")]),
        Entity("Imprint", [], superentity: "Publisher"),
    ])

    /// A new country with a publisher is deleted before it was saved, together with the save of another object.
    @Test(arguments: [true, false]) func aSectionOfAnObjectThatIsNeverSaved(includesSubentities: Bool) throws {
        let context = try PersistentContainer(temporaryWith: Self.countries).newContext()
        let publisher = try context.insert("Publisher")
        try context.save()
        var request = FetchRequest<ManagedObject>(entityName: "Publisher")
        request.sortKeys = [SortKey("country.name")]
        request.includesSubentities = includesSubentities
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .relationship("country", name: "name"))
        try controller.performFetch()
        let country = try context.insert("Country")
        country["name"] = "a"
        try context.insert("Imprint").relate("country", to: country)
        publisher.relate("country", to: country)
        context.processPendingChanges()
        context.delete(country)
        try context.save()
        #expect(controller.sections.map(\.name) == [""])
        #expect(controller.sections[0].count == (includesSubentities ? 2 : 1))
    }

    /// A new object that a deletion took with it, and a merge between that and the undo.
    @Test(arguments: [true, false]) func undoAfterACascadeAndAMerge(isProcessed: Bool) throws {
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
