import FetchIndex
import Observation
import Synchronization
import FetchIndexTestSupport
import Testing

/// The related objects of a to-many relationship as a collection.
@Suite struct RelatedCollectionTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.club)
        context = store.container.newContext()
    }

    @Test func aLoopOverRelatedObjectsMaySave() throws {
        let ann = context.person("ann")
        for number in 0..<5 { context.person("fan \(number)").buddy = ann }
        var seen = 0
        for fan in ann.fans {
            fan.email = "\(seen)"
            seen += 1
            try context.save()
        }
        #expect(seen == 5 && ann.fans.compactMap(\.email) == ["0", "1", "2", "3", "4"])
    }

    @Test func thousandsOfRelatedObjectsAreInTheOrderOfTheirIDs() throws {
        let ann = context.person("ann")
        let teams = (0..<3000).map { number in
            let team = Club.Team(context: context)
            team.name = "\(number)"
            return team
        }
        for team in teams { ann.teams.insert(team) }
        #expect(ann.teams.count == 3000 && ann.teams.contains(teams[1500]))
        try context.save()
        #expect(Array(ann.teams) == teams)
    }

    @Test func observersAreNotifiedWhenARelatedCollectionChanges() throws {
        let (ann, bob) = (context.person("ann"), context.person("bob"))
        let team = context.team("t", ann)
        bob.buddy = ann
        try context.save()
        func isTold(_ read: () -> Void, _ change: () -> Void) -> Bool {
            let told = Mutex(false)
            withObservationTracking(read) { told.withLock { $0 = true } }
            change()
            return told.withLock { $0 }
        }
        #expect(isTold({ _ = ann.fans.count }) { bob.buddy = nil })
        #expect(isTold({ _ = ann.fans.count }) { bob.buddy = ann })
        #expect(isTold({ _ = bob.teams.count }) { team.members.insert(bob) })
        #expect(isTold({ _ = ann.teams.count }) { team.members.remove(ann) })
        #expect(isTold({ _ = team.members.count }) { bob.teams.remove(team) })
        #expect(isTold({ _ = ann.fans.count }) { context.delete(bob) })
        #expect(isTold({ _ = ann.fans.count }) { try? context.rollback() })
    }
}
