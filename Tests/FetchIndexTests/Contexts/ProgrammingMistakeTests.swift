import FetchIndex
import Testing

/// Programming mistakes of a caller that end the program.
@Suite struct ProgrammingMistakeTests {
    @Test func aSectionIndexOutOfRangeTraps() async {
        await #expect(processExitsWith: .failure) {
            let context = try PersistentContainer(temporaryWith: Model(Book.self)).newContext()
            let controller = try FetchedResultsController(
                fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context)
            try controller.performFetch()
            print(controller.sections[1].name)
        }
    }

    @Test func deletingAnObjectOfAnotherContextTraps() async {
        await #expect(processExitsWith: .failure) {
            let container = try PersistentContainer(temporaryWith: Model(Book.self))
            let (context, other) = (container.newContext(), container.newContext())
            other.delete(Book(context: context))
        }
    }
}
