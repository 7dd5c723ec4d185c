import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

final class Magazine: ManagedObject {
    @Attribute("name") var name: String
    @Attribute("price") var price: Int
    @Attribute("approvalRate") var approvalRate: Double?
}

/// Searches of magazines, which see unsaved edits, rollbacks and saves.
@Suite struct MagazineTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Magazine.self))
        context = store.container.newContext()
        for (name, price) in [("月刊コロコロコミック", 390), ("コロコロイチバン!", 540), ("週刊少年ジャンプ", 255), ("最強ジャンプ", 480)] {
            let magazine = try #require(try context.insert("Magazine") as? Magazine)
            (magazine.name, magazine.price) = (name, price)
        }
        try context.save()
    }

    private func search(_ text: String) throws -> FetchRequest<Magazine> {
        var request = FetchRequest<Magazine>()
        request.predicate = try FetchPredicate("name CONTAINS %@", text)
        request.sortKeys = [SortKey(\.price)]
        return request
    }

    @Test func fetchesSeeUnsavedValuesUnlessExcluded() throws {
        let request = try search("ジャンプ")
        #expect(try context.fetch(request).map(\.price) == [255, 480])
        for magazine in try context.fetch(request) { magazine.price += 100 }
        #expect(try context.fetch(request).map(\.price) == [355, 580])
        var saved = request
        saved.includesPendingChanges = false
        saved.predicate = try FetchPredicate("price == 255")
        #expect(try context.fetch(saved).map(\.price) == [355], "found by its saved price, read with unsaved values")
        #expect(try store.container.newContext().count(for: saved) == 1)
        try context.save()
        #expect(try store.container.newContext().count(for: saved) == 0)
    }

    @Test func aRollbackRestoresValuesAndASavedDeletionRemovesRows() throws {
        let magazines = try context.fetch(search("ジャンプ"))
        magazines[0].price = 1
        context.delete(magazines[1])
        #expect(try context.fetch(search("ジャンプ")).map(\.price) == [1])
        #expect(magazines[0].changedValues == ["price": 1] && magazines[0].committedValues["price"] == 255)
        try context.rollback()
        #expect(try context.fetch(search("ジャンプ")).map(\.price) == [255, 480])
        #expect(!context.hasChanges)
        context.delete(magazines[1])
        try context.save()
        #expect(try context.count(for: FetchRequest<Magazine>()) == 3)
        #expect(magazines[1].managedObjectContext == nil)
    }

    @Test func aRequestGivesCountsIdentifiersOrDictionaries() throws {
        var request = try search("コロコロ")
        request.resultType = .count
        guard case .count(2) = try context.execute(request) else { return #expect(Bool(false)) }
        request.resultType = .objectIDs
        guard case .objectIDs(let ids) = try context.execute(request) else { return #expect(Bool(false)) }
        #expect(ids.map(\.number) == [1, 2])
        request.resultType = .dictionaries
        request.propertiesToFetch = ["price"]
        guard case .dictionaries(let rows) = try context.execute(request) else { return #expect(Bool(false)) }
        #expect(rows == [["price": 390], ["price": 540]])
        request.predicate = nil
        request.propertiesToFetch = ["approvalRate"]
        request.returnsDistinctResults = true
        guard case .dictionaries(let distinct) = try context.execute(request) else { return #expect(Bool(false)) }
        #expect(distinct == [["approvalRate": .null]])
        request.fetchOffset = 1
        request.fetchLimit = 2
        #expect(try context.count(for: request) == 2)
        #expect(try context.fetch(request).map(\.price) == [390, 480])
    }

    @Test func theObjectTrumpPolicyOverwritesOnlyEditedAttributes() throws {
        let other = store.container.newContext()
        let theirs = try #require(try other.fetch(search("コロコロ")).first)
        let ours = try #require(try context.fetch(search("コロコロ")).first)
        theirs.price = 400
        theirs.approvalRate = 20.2
        try other.save()
        ours.price = 410
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
        #expect(ours.price == 410)
        #expect(ours.approvalRate == 20.2)
        #expect(try store.container.newContext().count(for: search("コロコロ")) == 2)
    }
}

final class Reading: ManagedObject {
    @Attribute("timestamp") var timestamp: Date
    @Attribute("note") var note: String
}

/// Readings with a time stamp, newest first, in sections by day.
@Suite struct ReadingTests {
    static let day = 86_400.0
    static let midnight = Date(timeIntervalSince1970: 1_463_356_800)  // 2016-05-16T00:00:00Z

    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Reading.self))
        context = store.container.newContext()
        for (hours, note) in [(1.0, "a"), (23.5, "b"), (24.0, "c"), (47.9, "d"), (-400, "e"), (16 * 24.0, "f")] {
            let reading = Reading(context: context)
            reading.timestamp = Self.midnight.addingTimeInterval(hours * 3600)
            reading.note = note
        }
        try context.save()
    }

    private func controller(_ key: SectionKey, cacheName: String?) throws -> FetchedResultsController<Reading> {
        var request = FetchRequest<Reading>()
        request.sortKeys = [SortKey(\.timestamp, .descending)]
        request.predicate = try FetchPredicate(
            "timestamp >= %@ AND timestamp < %@", "2016-05-01T00:00:00Z", "2016-06-01T00:00:00Z")
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: key, cacheName: cacheName)
        try controller.performFetch()
        return controller
    }

    static let byDay: SectionKey = .computed("day", version: 1) { (reading: Reading) in
        let days = Int((reading.timestamp.timeIntervalSince(midnight) / day).rounded(.down))
        return "day \(days)"
    }

    @Test func dateSectionsAndComputedSectionsByDayAgree() throws {
        let dated = try controller(.date("timestamp", .day), cacheName: "by date")
        #expect(dated.listing(\.note) == ["2016-05-17: d c", "2016-05-16: b a"])
        let computed = try controller(Self.byDay, cacheName: "by function")
        #expect(computed.listing(\.note) == ["day 1: d c", "day 0: b a"])
        let recorder = Recorder<Reading>(\.note)
        computed.delegate = recorder
        let new = Reading(context: context)
        new.timestamp = Self.midnight.addingTimeInterval(-1)
        new.note = "g"
        try context.save()
        #expect(recorder.take() == ["will change", "section day -1 insert - 2", "g insert - 2.0", "did change"])
        #expect(dated.listing(\.note) == ["2016-05-17: d c", "2016-05-16: b a", "2016-05-15: g"])
        #expect(try store.container.verifyCache("by function") == [])
    }

    @Test func anOrderCannotBeCachedIfItsSectionFunctionHasNoVersion() throws {
        let key: SectionKey = .computed("note") { (reading: Reading) in reading.note }
        #expect(throws: ContextError.notCacheable("the computed section key note has no version")) {
            try controller(key, cacheName: "c")
        }
        #expect(try controller(key, cacheName: nil).sections.map(\.name) == ["d", "c", "b", "a"])
    }

    @Test func anotherSectionFunctionAndPredicateRebuildTheCache() throws {
        _ = try controller(Self.byDay, cacheName: "c")
        let container = try store.reopened()
        var request = FetchRequest<Reading>()
        request.sortKeys = [SortKey(\.timestamp, .descending)]
        let changed: SectionKey = .computed("day", version: 2) { (_: Reading) in "all" }
        let controller = try FetchedResultsController(
            fetchRequest: request, context: container.newContext(), sectionKey: changed, cacheName: "c")
        #expect(try controller.performFetch() == .rebuilt(.predicateChanged))
        request.predicate = try FetchPredicate(
            "timestamp >= %@ AND timestamp < %@", "2016-05-01T00:00:00Z", "2016-06-01T00:00:00Z")
        controller.fetchRequest = request
        #expect(try controller.performFetch() == .rebuilt(.predicateChanged))
        #expect(controller.sections.map(\.name) == ["all"])
    }
}

final class Conversation: ManagedObject {
    @Attribute("with") var partner: String
    @Attribute("lastMessage") var lastMessage: Date
}

/// Conversations by their last message, newest first.
@Suite struct ConversationTests {
    @Test func aNewMessageMovesItsConversationToTheTop() throws {
        let store = try LiveStore(Model(Conversation.self))
        let context = store.container.newContext()
        for (number, partner) in ["Aya", "Ken", "Rin"].enumerated() {
            let conversation = Conversation(context: context)
            conversation.partner = partner
            conversation.lastMessage = Date(timeIntervalSince1970: Double(number))
        }
        try context.save()
        var request = FetchRequest<Conversation>()
        request.sortKeys = [SortKey(\.lastMessage, .descending)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "recent")
        let recorder = Recorder<Conversation>(\.partner)
        controller.delegate = recorder
        try controller.performFetch()
        #expect(controller.listing(\.partner) == [": Rin Ken Aya"])
        #expect(controller.sections.count == 1)
        let aya = controller.object(at: RowPath(section: 0, row: 2))
        aya.lastMessage = Date(timeIntervalSince1970: 10)
        context.processPendingChanges()
        #expect(recorder.take() == ["will change", "Aya move 0.2 0.0", "did change"])
        try context.save()
        #expect(recorder.take() == [])
        #expect(controller.listing(\.partner) == [": Aya Rin Ken"])
    }
}
