import FetchIndex
import FetchIndexTestSupport
import Testing

/// Relationships that are their own inverses: if A is a friend of B, B is a friend of A.
@Suite struct SymmetricLinkTests {
    final class Dancer: ManagedObject {
        @Attribute("name", isUnique: true) var name: String
        @Relationship("friends", inverse: "friends") var friends: Related<Dancer>
        @Relationship("queue", inverse: "queue", ordered: true) var queue: Related<Dancer>
        @Relationship("partner", inverse: "partner") var partner: Dancer?
        @Relationship("heirs", inverse: "heirs", deleteRule: .cascade) var heirs: Related<Dancer>
    }

    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Dancer.self))
        context = store.container.newContext()
    }

    private func dancer(_ name: String) -> Dancer {
        let dancer = Dancer(context: context)
        dancer.name = name
        return dancer
    }

    /// What another context reads of a relationship.
    private func stored(_ read: (Dancer) -> [Dancer]) throws -> [String: [String]] {
        let all = try store.container.newContext().fetch(FetchRequest<Dancer>(sortKeys: [SortKey("name")]))
        return Dictionary(uniqueKeysWithValues: all.map { ($0.name, read($0).map(\.name)) })
    }

    @Test func bothObjectsShowALinkAtOnceAndAfterASave() throws {
        let (a, b, c) = (dancer("a"), dancer("b"), dancer("c"))
        a.friends.insert(b)
        #expect(Array(b.friends) == [a] && a.friends.contains(b) && c.friends.isEmpty)
        c.friends.insert(c)
        #expect(Array(c.friends) == [c] && c.friends.count == 1)
        a.partner = b
        #expect(b.partner === a)
        try context.save()
        #expect(try stored { Array($0.friends) } == ["a": ["b"], "b": ["a"], "c": ["c"]])
        #expect(try stored { $0.partner.map { [$0] } ?? [] } == ["a": ["b"], "b": ["a"], "c": []])
        b.friends.remove(a)
        #expect(a.friends.isEmpty)
        c.partner = a
        #expect(a.partner === c && b.partner == nil)
        try context.save()
        #expect(try stored { Array($0.friends) } == ["a": [], "b": [], "c": ["c"]])
        #expect(try stored { $0.partner.map { [$0] } ?? [] } == ["a": ["c"], "b": [], "c": ["a"]])
        c.partner = c
        #expect(a.partner == nil && c.partner === c)
        c.friends.remove(c)
        context.delete(a)
        try context.save()
        #expect(try stored { Array($0.friends) } == ["b": [], "c": []])
    }

    @Test func anOrderedRelationshipHasAnOrderAtEitherObject() throws {
        let all = ["a", "b", "c", "d"].map(dancer)
        for other in all.dropFirst() { all[0].queue.insert(other) }
        all[0].queue.move(all[3], to: all[0].queue.startIndex)
        all[3].queue.insert(all[1], at: all[3].queue.startIndex)
        #expect(Array(all[0].queue) == [all[3], all[1], all[2]])
        try context.save()
        #expect(
            try stored { Array($0.queue) } == ["a": ["d", "b", "c"], "b": ["a", "d"], "c": ["a"], "d": ["b", "a"]])
    }

    @Test func deletionsCascadeThroughTheRelationship() throws {
        let (a, b, c) = (dancer("a"), dancer("b"), dancer("c"))
        _ = dancer("d")
        a.heirs.insert(b)
        c.heirs.insert(b)
        try context.save()
        context.delete(a)
        try context.save()
        #expect(try stored { Array($0.heirs) } == ["d": []])
        #expect(b.isDeleted || b.managedObjectContext == nil)
    }

    /// A context that gives a partner to an object that another context gave one.
    @Test func aConflictNeverLeavesALinkOneWay() throws {
        for policy in [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback] {
            let (a, b, c) = (dancer("a \(policy)"), dancer("b \(policy)"), dancer("c \(policy)"))
            a.friends.insert(b)
            try context.save()
            let other = store.container.newContext()
            other.mergePolicy = policy
            let (otherA, otherC) = (other.object(with: a.objectID), other.object(with: c.objectID))
            let (second, third) = try (#require(otherA as? Dancer), #require(otherC as? Dancer))
            _ = (second.name, third.name)
            a.partner = b
            a.friends.remove(b)
            try context.save()
            second.partner = third
            second.friends.insert(third)
            do { try other.save() } catch { try other.rollback() }
            // The store's teardown checks that each link has its turned link.
            #expect(try store.container.check { _, _ in } == [], "\(policy)")
            try context.mergeChanges()
        }
    }

    /// Rows of batches name related objects from one side only.
    @Test func batchesCompleteLinks() throws {
        let (a, b) = (dancer("a"), dancer("b"))
        a.partner = b
        a.friends.insert(b)
        try context.save()
        let writer = try BatchWriter(store.container, entity: "Dancer", key: "name", author: "test")
        try writer.delete(b.objectID)
        try writer.insert([.string("c")])
        try writer.commit()
        try context.mergeChanges()
        #expect(a.partner == nil && a.friends.isEmpty)
    }

    @Test(arguments: 1...6) func randomEditsEqualAPlainGraph(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        struct Graph {
            var names: Set<String> = []
            var friends: Set<Set<String>> = []
            var partners: [String: String] = [:]

            mutating func separate(_ name: String) {
                guard let partner = partners.removeValue(forKey: name) else { return }
                partners[partner] = nil
            }
        }
        var graph = Graph()
        var saved = graph
        var next = 0
        var request = FetchRequest<Dancer>(predicate: try FetchPredicate("ANY friends.partner != nil"))
        request.sortKeys = [SortKey("name")]
        for step in 0..<250 {
            let all = try context.fetch(FetchRequest<Dancer>(sortKeys: [SortKey("name")]))
            let (one, two) = (all.randomElement(using: &generator), all.randomElement(using: &generator))
            switch (Int.random(in: 0..<20, using: &generator), one, two) {
            case (0...1, _, _), (_, nil, _), (_, _, nil):
                next += 1
                graph.names.insert(dancer("\(next)").name)
            case (2, let one?, _):
                graph.names.remove(one.name)
                graph.friends = graph.friends.filter { !$0.contains(one.name) }
                graph.separate(one.name)
                context.delete(one)
            case (3...7, let one?, let two?):
                one.friends.insert(two)
                graph.friends.insert([one.name, two.name])
            case (8...10, let one?, let two?):
                one.friends.remove(two)
                graph.friends.remove([one.name, two.name])
            case (11...13, let one?, let two?):
                one.partner = two
                graph.separate(one.name)
                graph.separate(two.name)
                (graph.partners[one.name], graph.partners[two.name]) = (two.name, one.name)
            case (14, let one?, _):
                one.partner = nil
                graph.separate(one.name)
            case (15...18, _, _):
                try context.save()
                saved = graph
            default:
                try context.rollback()
                graph = saved
            }
            let read = try context.fetch(FetchRequest<Dancer>(sortKeys: [SortKey("name")]))
            let comment = "seed \(seed), step \(step)"
            #expect(Set(read.map(\.name)) == graph.names, "\(comment)")
            for one in read {
                let friends = graph.friends.filter { $0.contains(one.name) }.map {
                    $0.subtracting([one.name]).first ?? one.name
                }
                #expect(one.friends.map(\.name).sorted() == friends.sorted(), "\(comment)")
                #expect(one.partner?.name == graph.partners[one.name], "\(comment)")
            }
            if step % 25 == 24 {
                let controller = try FetchedResultsController(
                    fetchRequest: request, context: store.container.newContext(), cacheName: "partnered")
                try controller.performFetch()
                let wanted = saved.names.filter { name in
                    saved.friends.contains { pair in
                        guard pair.contains(name) else { return false }
                        return saved.partners[pair.subtracting([name]).first ?? name] != nil
                    }
                }
                #expect(controller.fetchedObjects?.map(\.name) == wanted.sorted(), "\(comment)")
                #expect(try store.container.check { _, _ in } == [], "\(comment)")
            }
        }
    }
}
