#if DEBUG
    import FetchIndex
    import FetchIndexTestSupport
    import Testing

    @testable import FetchIndexOrderCaches

    /// If nobody else commits meanwhile, an opening or a merge assesses once whether a cache is current, behind or
    /// unusable, and a save assesses it once in each state of the store that the save uses.
    @Suite struct AssessmentTests {
        private enum State: CaseIterable {
            case current
            case behind
            case deleted
            case deletedAndBehind
        }

        private let store: LiveStore
        private let definition = OrderDefinition(
            entity: "Book", sortKeys: [SortKey("price")], sectionKey: .attribute("publisher"))

        init() throws {
            store = try LiveStore(Model(Book.self))
            try insert(3)
            try open()
        }

        private func insert(_ count: Int) throws {
            let context = store.container.newContext()
            for number in 0..<count {
                let book = Book(context: context)
                (book.title, book.publisher, book.price) = ("\(number)", "P\(number % 2)", number)
            }
            try context.save()
        }

        @discardableResult
        private func open(exactly: Bool = false) throws -> FetchOutcome {
            var options = PersistentContainer.OrderOptions(cacheName: "c")
            options.needsExactChange = exactly
            return try store.container.withOrder(definition, options) { $0.outcome }
        }

        private func controller(
            in context: ManagedObjectContext, exactly: Bool = false
        ) throws -> FetchedResultsController<ManagedObject> {
            try FetchedResultsController(definition, context, cacheName: "c", needsExactChange: exactly)
        }

        private func bringCache(to state: State) throws {
            switch state {
            case .current: break
            case .behind: try insert(1)
            case .deleted: try store.container.deleteCache(named: "c")
            case .deletedAndBehind:
                try store.container.deleteCache(named: "c")
                try insert(1)
            }
        }

        /// Brings the cache into a state and opens it. Expects one assessment, and the outcome for this state.
        private func expectOne(_ state: State, _ open: () throws -> FetchOutcome) throws {
            try bringCache(to: state)
            let count = store.container.cacheEngine.hits?.assessmentCount ?? 0
            let outcome = try open()
            #expect(store.container.cacheEngine.hits?.assessmentCount == count + 1, "\(outcome)")
            switch (state, outcome) {
            case (.current, .hit), (.behind, .caughtUp), (.deleted, .rebuilt(.first)),
                (.deletedAndBehind, .rebuilt(.first)):
                break
            default: Issue.record("\(state): \(outcome)")
            }
        }

        @Test(arguments: State.allCases, [false, true]) private func openingAnOrderAssessesItsCacheOnce(
            state: State, exactly: Bool
        ) throws {
            try expectOne(state) { try open(exactly: exactly) }
        }

        @Test(arguments: State.allCases, [false, true]) private func aControllersFirstFetchAssessesItsCacheOnce(
            state: State, exactly: Bool
        ) throws {
            let controller = try controller(in: store.container.newContext(), exactly: exactly)
            try expectOne(state) { try controller.performFetch() }
        }

        @Test(arguments: State.allCases) private func aLaterFetchOfAControllerAssessesItsCacheOnce(state: State) throws
        {
            let controller = try controller(in: store.container.newContext())
            try controller.performFetch()
            try expectOne(state) { try controller.performFetch() }
            #expect(controller.fetchedObjects?.count == (state == .behind || state == .deletedAndBehind ? 4 : 3))
        }

        @Test(arguments: State.allCases) private func aMergeAssessesTheCacheOfAControllerOnce(state: State) throws {
            let context = store.container.newContext()
            let controller = try controller(in: context)
            try controller.performFetch()
            try bringCache(to: state)
            let count = store.container.cacheEngine.hits?.assessmentCount ?? 0
            try context.mergeChanges()
            #expect(store.container.cacheEngine.hits?.assessmentCount == count + 1)
            #expect(controller.fetchedObjects?.count == (state == .behind || state == .deletedAndBehind ? 4 : 3))
        }

        @Test(arguments: [State.current, .deleted], [1, 100])
        private func aSaveAssessesTheCacheOnce(state: State, savedObjects: Int) throws {
            try insert(100)
            let context = store.container.newContext()
            let controller = try controller(in: context)
            try controller.performFetch()
            try bringCache(to: state)
            for number in 0..<savedObjects {
                let book = try #require(controller.fetchedObjects?[number] as? Book)
                book.price += 1000
            }
            context.processPendingChanges()
            let count = store.container.cacheEngine.hits?.assessmentCount ?? 0
            try context.save()
            #expect(store.container.cacheEngine.hits?.assessmentCount == count + 1)
            #expect(controller.fetchedObjects?.count == 103)
        }
    }
#endif
