import FetchIndex
import Foundation
import Testing

// A program's own types, whose names FetchIndex or Foundation might use, too.
struct Predicate<Input> { let holds: (Input) -> Bool }
struct SortDescriptor { let isAscending: Bool }
struct SectionInfo { let name: String }

final class Book: ManagedObject {
    @Attribute("title") var title: String
    @Attribute("price") var price: Int
}

/// A program that imports FetchIndex and Foundation needs no module prefix for the types of FetchIndex named below.
@Suite struct FoundationNamesTests {
    @Test func publicNamesDoNotCollideWithFoundationsNames() {
        let types: [Any.Type] = [
            AttributeDescription.self, AttributeError.self, BatchDeleteRequest.self, BatchInsertRequest.self,
            BatchUpdateRequest.self, BatchWriter.self, CacheStatistics.self, CalendarUnit.self, ChangeKind.self,
            ComputedSection.self, ContextError.self, DamagedBackup.self, Durability.self, Entity.self,
            FetchOutcome.self, FetchPlan.self,
            FetchPredicate.self, FetchPredicateError.self, FetchRequest<Book>.self, FetchResult<Book>.self,
            FetchedOrder.self, FetchedResultsController<Book>.self, FetchedSection.self, HistoryTransaction.self,
            ManagedObject.self, ManagedObjectContext.self, MergeConflict.self, MergeConflicts.self, MergePolicy.self,
            Model.self, ObjectID.self, ObjectPredicate<Book>.self, ObjectRegistration.self, OrderDefinition.self,
            PersistentContainer.self, PredicateValue.self, RebuildReason.self, RequestError.self, ResultsChange.self,
            ResultsObjects<Book>.self, ResultsSection<Book>.self, ResultsSections<Book>.self, ResultsSnapshot.self,
            RowPath.self, SectionCalendar.self, SectionEvent.self, SectionKey.self, SectionOrder.self,
            SortDirection.self,
            SortKey<Book>.self, StoreBackup.self, StoreCompaction.self, StoreCopyError.self, StoreError.self,
            TextFolding.self,
            TextOrder.self, UniqueConflictPolicy.self, UnknownLocale.self, UnknownTimeZone.self,
            UnusableCalendar.self, ValidationError.self, Value.self, ValueType.self, Attribute<Int>.self,
            (any AttributeValue).self, (any CodableAttributeValue).self, (any TextAttributeValue).self,
            (any PredicateArgument).self, (any FetchedResultsControllerDelegate<Book>).self,
            (any FetchedResultsControllerSnapshotDelegate<Book>).self,
        ]
        #expect(Set(types.map(ObjectIdentifier.init)).count == types.count)
    }

    @Test func aProgramsOwnNamesHavePrecedence() throws {
        let container = try PersistentContainer(temporaryWith: Model(Book.self))
        let context = container.newContext()
        let book = Book(context: context)
        (book.title, book.price) = ("虐殺器官", 583)
        try context.save()
        let cheap = Predicate<Book> { $0.price < 1000 }
        let order = SortDescriptor(isAscending: true)
        var request = FetchRequest<Book>()
        request.predicate = try FetchPredicate("price < %d", 1000)
        request.sortKeys = [SortKey(\.price, order.isAscending ? .ascending : .descending)]
        let books = try context.fetch(request)
        #expect(books.map(\.title) == ["虐殺器官"])
        #expect(books.allSatisfy(cheap.holds))
        let definition = OrderDefinition(entity: "Book", sectionKey: .attribute("title"))
        try container.withOrder(definition, .init(cacheName: "titles")) { order in
            let section: FetchedSection = try order.section(at: 0)
            #expect(SectionInfo(name: section.name).name == "虐殺器官")
            try order.forEachRow { row in
                let price = try row.value(of: "price")
                #expect(price == 583)
            }
        }
    }
}
