#if DEBUG
    import FetchIndex
    import FetchIndexTestSupport
    import Testing

    @testable import FetchIndexOrderCaches

    /// If nobody else commits meanwhile, each opening of a cache and each merge assesses once whether the cache is
    /// current, behind or unusable, and a save assesses it once in each state of the store that the save uses.
    @Suite struct AssessmentTests {
        private enum State: CaseIterable {
            case current
            case behind
            case deleted
            case deletedAndBehind
            case withShortLog

            var hasNewRow: Bool { [.behind, .deletedAndBehind, .withShortLog].contains(self) }
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
            case .withShortLog:
                try insert(1)
                let context = store.container.newContext()
                try context.deleteHistory(before: context.commit + 1)
            }
        }

        private var assessmentCount: Int { store.container.cacheEngine.hits?.assessmentCount ?? 0 }

        /// Brings the cache into a state and opens it. Expects one assessment, and the outcome for this state. If
        /// `inserts`, the opening follows an insertion in the same transaction.
        private func expectOne(_ state: State, inserts: Bool = false, _ open: () throws -> FetchOutcome?) throws {
            try bringCache(to: state)
            let count = assessmentCount
            let outcome = try #require(try open())
            #expect(assessmentCount == count + 1, "\(outcome)")
            switch (inserts && state == .current ? .behind : state, outcome) {
            case (.current, .hit), (.behind, .caughtUp), (.behind, .pending), (.deleted, .rebuilt(.first)),
                (.deletedAndBehind, .rebuilt(.first)), (.withShortLog, .rebuilt(.logTooShort)):
                break
            default: Issue.record("\(state): \(outcome)")
            }
        }

        /// Inserts a row in a transaction, which the body ends.
        private func inserting(_ end: (BatchWriter) throws -> FetchOutcome?) throws -> FetchOutcome? {
            let writer = try BatchWriter(store.container, entity: "Book")
            try writer.insert([.string("new"), .string("P1"), .integer(7)])
            return try end(writer)
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
            if state == .withShortLog {
                // The merge has rebuilt the cache, and knows the change of the rows.
                try bringCache(to: state)
                let count = assessmentCount
                let outcome = try controller.performFetch()
                if case .caughtUp = outcome {} else { Issue.record("\(outcome)") }
                #expect(assessmentCount == count + 1)
            } else {
                try expectOne(state) { try controller.performFetch() }
            }
            #expect(controller.fetchedObjects?.count == (state.hasNewRow ? 4 : 3))
        }

        @Test(arguments: State.allCases) private func aMergeAssessesTheCacheOfAControllerOnce(state: State) throws {
            let context = store.container.newContext()
            let controller = try controller(in: context)
            try controller.performFetch()
            try bringCache(to: state)
            let count = assessmentCount
            try context.mergeChanges()
            #expect(assessmentCount == count + 1)
            #expect(controller.fetchedObjects?.count == (state.hasNewRow ? 4 : 3))
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
            let count = assessmentCount
            try context.save()
            #expect(assessmentCount == count + 1)
            #expect(controller.fetchedObjects?.count == 103)
        }

        @Test(arguments: State.allCases) private func refreshingACacheAssessesItOnce(state: State) throws {
            try expectOne(state) {
                var outcome: FetchOutcome?
                try store.container.refreshCaches([(definition, .init(cacheName: "c"))]) { _, result in
                    outcome = try result.get().outcome
                }
                return outcome
            }
        }

        @Test(arguments: State.allCases) private func anOpeningThatWritesNothingAssessesTheCacheOnce(
            state: State
        ) throws {
            try expectOne(state) {
                try store.container.withUnchangedOrder(definition, .init(cacheName: "c")) { $0.outcome }
            }
        }

        @Test(arguments: State.allCases) private func aPreviewAssessesTheCacheOnce(state: State) throws {
            try expectOne(state, inserts: true) {
                try inserting { writer in
                    try writer.preview { try $0.order(definition, cacheName: "c").order.outcome }
                }
            }
        }

        @Test(arguments: State.allCases) private func aCommitThatBringsTheCacheAssessesItOnce(state: State) throws {
            try expectOne(state, inserts: true) {
                try inserting { try $0.commit(bringing: definition, cacheName: "c") }
            }
        }

        @Test(arguments: State.allCases) private func aCommitThatTellsTheChangeAssessesTheCacheOnce(
            state: State
        ) throws {
            try expectOne(state, inserts: true) {
                try inserting { writer in
                    var outcome: FetchOutcome?
                    try writer.commit(bringing: definition, cacheName: "c", telling: { outcome = $0 })
                    return outcome
                }
            }
        }

        @Test(arguments: [State.current, .behind, .withShortLog])
        private func aWriterAssessesAMaintainedCacheOnce(state: State) throws {
            try bringCache(to: state)
            for change in [{ try store.container.setMaintained(true, cacheNamed: "c") }, { try insert(1) }] {
                let count = assessmentCount
                try change()
                #expect(assessmentCount == count + 1)
            }
            #expect(try open() == .hit)
        }
    }
#endif
