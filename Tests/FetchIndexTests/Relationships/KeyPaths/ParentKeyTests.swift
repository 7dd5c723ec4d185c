import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

final class Forum: ManagedObject {
    @Attribute("name") var name: String
    @Attribute("note") var note: String
    @Attribute("lastPost") var lastPost: Int
    @Relationship("posts", inverse: "forum") var posts: Related<ForumPost>
}

final class ForumPost: ManagedObject {
    @Attribute("text") var text: String
    @Attribute("number") var number: Int
    @Relationship("forum", inverse: "posts") var forum: Forum?
}

/// Rows that are sorted by a value of their parent. After a change of the parent, only rows that changed or moved are
/// reported.
@Suite struct ParentKeyTests {
    /// The values of a row. A change of one of these values must be reported.
    private struct Row: Equatable {
        let text: String
        let number: Int
        let forum: ObjectID?
        let note: String?
    }

    /// The batches that a controller delivers.
    private final class Listener: FetchedResultsControllerDelegate {
        var changes: [ResultsChange] = []

        func controller(_ controller: FetchedResultsController<ForumPost>, didChange change: ResultsChange) {
            changes.append(change)
        }
    }

    private final class Watched {
        let context: ManagedObjectContext
        let controller: FetchedResultsController<ForumPost>
        let listener = Listener()
        let observesNotes: Bool
        var snapshot: ResultsSnapshot
        var rows: [ObjectID: Row] = [:]

        init(_ context: ManagedObjectContext, cacheName: String?, observesNotes: Bool) throws {
            (self.context, self.observesNotes) = (context, observesNotes)
            var request = FetchRequest<ForumPost>(sortKeys: try SortKey.list(parsing: "forum.lastPost:desc,number"))
            if observesNotes { request.observedKeyPaths = ["forum.note"] }
            controller = try FetchedResultsController(
                fetchRequest: request, context: context, sectionKey: .attribute("forum.name"), cacheName: cacheName)
            try controller.performFetch()
            controller.delegate = listener
            snapshot = controller.snapshot
            rows = seen()
        }

        func seen() -> [ObjectID: Row] {
            var rows: [ObjectID: Row] = [:]
            for post in controller.fetchedObjects.map({ Array($0) }) ?? [] {
                rows[post.objectID] = Row(
                    text: post.text, number: post.number, forum: post.forum?.objectID,
                    note: observesNotes ? post.forum?.note : nil)
            }
            return rows
        }
    }

    private func check(_ watched: Watched, _ place: String) throws {
        let (old, oldRows) = (watched.snapshot, watched.rows)
        let (new, newRows) = (watched.controller.snapshot, watched.seen())
        (watched.snapshot, watched.rows) = (new, newRows)
        let changes = watched.listener.changes
        watched.listener.changes = []
        guard let change = changes.first else {
            #expect(old.objectIDs == new.objectIDs && oldRows == newRows, "\(place): a change that isn't reported")
            return
        }
        #expect(changes.count == 1, "\(place)")
        let list = old.objectIDs.map { $0.map { change.renumbered[$0] ?? $0 } }
        #expect(change.replay(on: list) == new.objectIDs, "\(place)")
        var sections: [ObjectID: String] = [:]
        for (name, ids) in zip(old.sectionNames, list) { for id in ids { sections[id] = name } }
        var (updated, moved): (Set<ObjectID>, Set<ObjectID>) = ([], [])
        for event in change.rows {
            switch event {
            case .update(let id, _, _): updated.insert(id)
            case .move(let id, _, _): moved.insert(id)
            case .insert, .delete: break
            }
        }
        var expected: Set<ObjectID> = []
        var movedWithin = 0
        for (name, ids) in zip(new.sectionNames, new.objectIDs) {
            let staying = ids.filter { sections[$0] == name }
            let within = staying.filter(moved.contains).count
            #expect(within == fewestMoves(from: Array(list.joined()), to: staying), "\(place): moves within \(name)")
            movedWithin += within
            for id in staying where !moved.contains(id) && oldRows[id] != newRows[id] { expected.insert(id) }
        }
        #expect(updated == expected, "\(place): updates")
    }

    @Test(arguments: 0..<10 as Range<UInt64>) func onlyRowsThatChangedOrMovedAreReported(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(Model(Forum.self, ForumPost.self))
        let context = store.container.newContext()
        let forums = (0..<4).map { number in
            let forum = Forum(context: context)
            (forum.name, forum.note, forum.lastPost) = ("forum \(number)", "", number)
            return forum
        }
        var posts: [ForumPost] = []
        func send() {
            let post = ForumPost(context: context)
            (post.text, post.number) = ("new", Int.random(in: 0..<50, using: &random))
            post.forum = forums.randomElement(using: &random)
            post.forum?.lastPost = Int.random(in: 0..<1000, using: &random)
            posts.append(post)
        }
        for _ in 0..<30 { send() }
        try context.save()
        let observes = seed % 2 == 0
        let own = try Watched(context, cacheName: seed % 3 == 0 ? nil : "posts", observesNotes: observes)
        let merging = try Watched(store.container.newContext(), cacheName: "posts", observesNotes: observes)
        for step in 0..<40 {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let post = posts.randomElement(using: &random)!
                switch Int.random(in: 0..<6, using: &random) {
                case 0: send()
                case 1: post.text = ["a", "b"].randomElement(using: &random)!
                case 2: post.number = Int.random(in: 0..<50, using: &random)
                case 3: post.forum = forums.randomElement(using: &random)
                case 4: forums.randomElement(using: &random)?.note = ["x", "y"].randomElement(using: &random)!
                default: forums.randomElement(using: &random)?.lastPost = Int.random(in: 0..<1000, using: &random)
                }
            }
            try context.save()
            try check(own, "seed \(seed), step \(step)")
            try merging.context.mergeChanges()
            try check(merging, "seed \(seed), step \(step), merged")
        }
    }

    /// A new post changes the sort key of all posts of its forum, but not their order.
    @Test func aPostThatChangesItsForumsSortKeyIsReportedAsOneRowChange() throws {
        let store = try LiveStore(Model(Forum.self, ForumPost.self))
        let context = store.container.newContext()
        let forum = Forum(context: context)
        (forum.name, forum.note, forum.lastPost) = ("f", "", 1)
        func send(_ number: Int) {
            let post = ForumPost(context: context)
            (post.text, post.number, post.forum) = ("t", number, forum)
            forum.lastPost = number
        }
        for number in 0..<50 { send(number) }
        try context.save()
        let watched = try Watched(context, cacheName: "posts", observesNotes: false)
        send(50)
        try context.save()
        #expect(watched.listener.changes.map(\.rows.count) == [1])
    }
}
