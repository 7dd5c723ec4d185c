import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

enum Genre: String, AttributeValue, CaseIterable {
    case novel, essay
}

enum Priority: Int, AttributeValue, CaseIterable {
    case low = 1
    case high = 2
}

struct Address: CodableAttributeValue, Equatable {
    var street: String
    var number: Int
}

class Record: ManagedObject {
    @Attribute("created") var created: Date
    @Attribute("title") var title: String
    @Attribute("isDone") var isDone = false
    var shout: String { title.uppercased() }
}

final class Note: Record {
    @Attribute("genre") var genre: Genre
    @Attribute("other") var other: Genre?
    @Attribute("priority") var priority = Priority.low
    @Attribute("pages") var pages = 7
    @Attribute("weight") var weight: Float = 0.5
    @Attribute("small") var small: UInt8 = 200
    @Attribute("tags") var tags: [String] = ["new"]
    @Attribute("numbers") var numbers: [Int]
    @Attribute("address") var address: Address?
}

final class Ticket: ManagedObject {
    @Attribute("code") var code = UUID()
}

/// Enumerations, lists, `Codable` values and other values of attributes are stored and read back. `value(of:)` throws
/// if the object is missing, or if the type can't represent the value; a property of a missing object traps.
@Suite struct ObjectValueTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Note.self))
        context = store.container.newContext()
    }

    @Test func enumerationsAreArgumentsOfPredicates() throws {
        for genre in Genre.allCases { _ = note(genre.rawValue, genre) }
        try context.save()
        let request = FetchRequest<Note>(
            predicate: try FetchPredicate("genre IN %@", [Genre.essay]), sortKeys: [SortKey(\.title)])
        #expect(try context.fetch(request).map(\.title) == ["essay"])
        #expect(try FetchPredicate("genre == %@", Genre.novel) == FetchPredicate("genre == 'novel'"))
    }

    private func note(_ title: String, _ genre: Genre = .novel, at seconds: Double = 0) -> Note {
        let note = Note(context: context)
        (note.title, note.genre) = (title, genre)
        note.created = Date(timeIntervalSinceReferenceDate: seconds)
        note.numbers = []
        return note
    }

    /// The initial value in the declaration is evaluated for each object.
    @Test func eachObjectGetsItsOwnDefaultValue() throws {
        let store = try LiveStore(Model(Ticket.self))
        let context = store.container.newContext()
        let tickets = (0..<3).map { _ in Ticket(context: context) }
        #expect(Set(tickets.map(\.code)).count == 3)
        #expect(tickets[0].code == tickets[0].code)
        try context.save()
        let reader = store.container.newContext()
        #expect(Set(try reader.fetch(FetchRequest<Ticket>()).map(\.code)).count == 3)
    }

    @Test func keyPathsNameAttributesOfABaseClass() throws {
        for (index, title) in ["b", "a", "c"].enumerated() { _ = note(title, at: Double(index)) }
        try context.save()
        var request = FetchRequest<Note>()
        request.sortKeys = [SortKey(\.created, .descending)]
        #expect(try context.fetch(request).map(\.title) == ["c", "a", "b"])
        request.predicate = FetchPredicate(\Note.created > Date(timeIntervalSinceReferenceDate: 0))
        #expect(try context.fetch(request).map(\.title) == ["c", "a"])
        request.predicate = try FetchPredicate(#Predicate<Note> { $0.title == "a" })
        #expect(try context.fetch(request).map(\.title) == ["a"])
        request.predicate = try FetchPredicate(#Predicate<Note> { $0.isDone })
        #expect(try context.fetch(request).isEmpty)
        #expect(Note.attributeNames(ofAny: \Note.title) == ["title"])
        #expect(Note.attributeNames(ofAny: \Note.genre) == ["genre"])
        #expect(Note.attributeNames(ofAny: \Note.shout) == nil)
        #expect(Note.attributeNames(ofAny: \Note.title.count) == nil)
    }

    @Test func newObjectsHaveTheirDeclaredDefaultValues() throws {
        let new = note("n")
        #expect(new.pages == 7)
        #expect(new.weight == 0.5)
        #expect(new.small == 200)
        #expect(new.tags == ["new"])
        #expect(new.priority == .low)
        #expect(!new.isDone)
        #expect(new.other == nil)
        try context.save()
        let other = store.container.newContext()
        let same = try other.existingObject(with: new.objectID, as: Note.self)
        #expect(same.pages == 7)
        #expect(same.tags == ["new"])
    }

    @Test func enumerationsAndCodableValuesAreStored() throws {
        let new = note("n", .essay)
        new.priority = .high
        new.address = Address(street: "影", number: 3)
        new.tags = ["a", "b"]
        new.numbers = [1, 2, 3]
        new.other = .novel
        try context.save()
        let other = store.container.newContext()
        var request = FetchRequest<Note>()
        request.predicate = try FetchPredicate("genre == 'essay' AND priority == 2")
        let same = try #require(try other.fetch(request).first)
        #expect(same.genre == .essay)
        #expect(same.priority == .high)
        #expect(same.address == Address(street: "影", number: 3))
        #expect(same.tags == ["a", "b"])
        #expect(same.numbers == [1, 2, 3])
        #expect(same.other == .novel)
        #expect("\(same)" == "Note #1 \"n\"")
    }

    /// Another program may have stored a case of an enumeration that this program doesn't declare.
    @Test func readingAnUnknownRawValueThrows() throws {
        let new = note("n")
        try context.save()
        let writer = try BatchWriter(store.container, entity: "Note")
        var values = try writer.values(of: new.objectID)
        let slot = try #require(writer.entity.slot(of: "genre"))
        values[slot] = "poem"
        try writer.update(new.objectID, values)
        try writer.commit()
        let other = store.container.newContext()
        let same = try other.existingObject(with: new.objectID, as: Note.self)
        #expect(
            throws: AttributeError.unreadable(entity: "Note", attribute: "genre", value: "poem", type: "Genre")
        ) { let _: Genre = try same.value(of: "genre") }
        #expect(try same.value(of: "genre", as: String.self) == "poem")
    }

    #if compiler(>=6.2)
        /// A property traps instead of returning zero or an empty text. The cases: two reads of objects that don't
        /// exist, one of them after its context was released, and setting an attribute of an object whose insertion was
        /// rolled back.
        @Test func propertiesOfMissingObjectsTrap() async {
            await #expect(processExitsWith: .failure) {
                let store = try LiveStore(Model(Note.self))
                let note: Note
                do {
                    let context = store.container.newContext()
                    note = context.object(with: try context.objectID(of: "Note", number: 1)) as! Note
                }
                print(note.title)
            }
            await #expect(processExitsWith: .failure) {
                let store = try LiveStore(Model(Note.self))
                let context = store.container.newContext()
                let note = context.object(with: try context.objectID(of: "Note", number: 7)) as! Note
                print(note.pages)
            }
            await #expect(processExitsWith: .failure) {
                let store = try LiveStore(Model(Note.self))
                var context: ManagedObjectContext? = store.container.newContext()
                let note = Note(context: context!)
                try context?.rollback()
                context = nil
                note.title = "lost"
            }
        }
    #endif

    @Test func valueOfThrowsForMissingObjectsAndUnknownAttributes() throws {
        let id = try context.objectID(of: "Note", number: 7)
        #expect(throws: StoreError.unknownObject("7")) { try context.existingObject(with: id) }
        let fault = context.object(with: id)
        #expect(throws: AttributeError.self) { try fault.value(of: "title", as: String.self) }
        #expect(throws: AttributeError.unknownAttribute(entity: "Note", attribute: "nothing")) {
            try fault.value(of: "nothing", as: String.self)
        }
    }
}
