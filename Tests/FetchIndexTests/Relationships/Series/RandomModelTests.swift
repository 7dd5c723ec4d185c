import FetchIndex
import FetchIndexTestSupport
import Testing

/// Random models, requests and edits, compared with a graph of plain values. Two contexts edit in turn, and both have
/// controllers, which share named caches.
@Suite struct RandomModelTests {
    /// A context, with its objects by number.
    private final class Editor {
        let context: ManagedObjectContext
        var objects: [Int: ManagedObject] = [:]
        private var followed: [FollowedRequest] = []

        init(_ container: PersistentContainer) { context = container.newContext() }

        func follow(_ requests: [GraphRequest]) throws {
            followed = try requests.enumerated().map { try FollowedRequest($1, "cache \($0)", in: context) }
        }

        func object(_ number: Int) throws -> ManagedObject { try #require(objects[number]) }

        /// Takes over the objects that another context has saved.
        func take(_ graph: PlainGraph, from other: Editor) throws {
            objects = try Dictionary(
                uniqueKeysWithValues: graph.objects.keys.map { number in
                    (number, try context.existingObject(with: try other.object(number).objectID))
                })
        }

        func check(_ graph: PlainGraph, _ note: String) throws {
            var numbers: [ObjectIdentifier: Int] = [:]
            for (number, object) in objects { numbers[ObjectIdentifier(object)] = number }
            for (number, plain) in graph.objects {
                let object = try object(number)
                for side in graph.shape.sides(of: plain.entity) {
                    let description = graph.shape.sides[side]
                    let found =
                        description.isMany
                        ? Array(object.relatedObjects(description.name))
                        : [object.relatedObject(description.name)].compactMap(\.self)
                    var others = found.map { numbers[ObjectIdentifier($0)] ?? -1 }
                    var expected = graph.related(number, side)
                    if !description.isOrdered { (others, expected) = (others.sorted(), expected.sorted()) }
                    if others != expected {
                        Issue.record("\(note): \(description.name) of \(number) is \(others), not \(expected)")
                    }
                }
            }
            let ids = objects.mapValues(\.objectID)
            for request in followed { try request.check(graph, ids, note) }
        }
    }

    /// A controller, and the rows that result from replaying its changes.
    private final class FollowedRequest: FetchedResultsControllerDelegate {
        private let request: GraphRequest
        private let controller: FetchedResultsController<ManagedObject>
        private let context: ManagedObjectContext
        private var rows: [[ObjectID]] = []

        init(_ request: GraphRequest, _ cacheName: String, in context: ManagedObjectContext) throws {
            (self.request, self.context) = (request, context)
            controller = try FetchedResultsController(
                fetchRequest: request.fetchRequest(), context: context, sectionKey: request.sectionKey,
                cacheName: cacheName)
            try controller.performFetch()
            rows = controller.snapshot.objectIDs
            controller.delegate = self
        }

        func controller(_ controller: FetchedResultsController<ManagedObject>, didChange change: ResultsChange) {
            if let new = change.replay(on: rows.map { $0.map { change.renumbered[$0] ?? $0 } }) {
                rows = new
            } else {
                Issue.record("\(request.text): \(change) cannot be replayed")
            }
        }

        func check(_ graph: PlainGraph, _ ids: [Int: ObjectID], _ note: String) throws {
            #expect(rows == controller.snapshot.objectIDs, "\(request.text): \(note)")
            let expected = request.sections(of: graph, ids)
            #expect(rows == expected, "\(request.text): \(note)")
            let fetched = try context.fetch(request.fetchRequest()).map(\.objectID)
            #expect(Set(fetched) == Set(expected.joined()), "\(request.text), fetched: \(note)")
        }
    }

    private struct Series {
        var random: SeededGenerator
        var graph: PlainGraph
        var nextNumber = 0
        var steps: [String] = []

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            graph = PlainGraph(shape: GraphShape(&random))
        }

        mutating func edit(_ editor: Editor) throws {
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<3: try insert(editor)
            case 3:
                guard let number = graph.objects.keys.sorted().randomElement(using: &random) else { return }
                steps.append("delete \(number)")
                editor.context.delete(try editor.object(number))
                graph.delete(number)
            case 4..<6:
                guard let number = graph.objects.keys.sorted().randomElement(using: &random) else { return }
                let value = Int.random(in: 0..<12, using: &random)
                steps.append("value of \(number) = \(value)")
                graph.objects[number]?.value = value
                try editor.object(number)["value"] = .integer(Int64(value))
            case 6: editor.context.processPendingChanges()
            default: try relate(editor)
            }
        }

        private mutating func insert(_ editor: Editor) throws {
            let entity = Int.random(in: graph.shape.superentities.indices, using: &random)
            nextNumber += 1
            let value = Int.random(in: 0..<5, using: &random) == 0 ? nil : nextNumber % 11
            steps.append("insert \(nextNumber) of \(GraphShape.name(entity)), \(value.map { "\($0)" } ?? "-")")
            let object = try editor.context.insert(GraphShape.name(entity))
            object["name"] = .string("n\(nextNumber % 7)")
            if let value { object["value"] = .integer(Int64(value)) }
            editor.objects[nextNumber] = object
            graph.objects[nextNumber] = PlainGraph.Object(entity: entity, value: value)
        }

        private mutating func relate(_ editor: Editor) throws {
            guard let number = graph.objects.keys.sorted().randomElement(using: &random),
                let entity = graph.objects[number]?.entity,
                let side = graph.shape.sides(of: entity).randomElement(using: &random)
            else { return }
            let description = graph.shape.sides[side]
            let related = graph.related(number, side)
            let object = try editor.object(number)
            if let former = related.randomElement(using: &random), Int.random(in: 0..<3, using: &random) == 0 {
                steps.append("\(description.name) of \(number) without \(former)")
                if description.isMany {
                    object.relatedObjects(description.name).remove(try editor.object(former))
                } else {
                    object.relate(description.name, to: nil)
                }
                graph.unlink(side, number, former)
                return
            }
            guard let other = graph.all(description.destination).randomElement(using: &random) else { return }
            guard description.isMany else {
                steps.append("\(description.name) of \(number) = \(other)")
                object.relate(description.name, to: try editor.object(other))
                return graph.link(side, number, other)
            }
            let list = object.relatedObjects(description.name)
            guard description.isOrdered, Bool.random(using: &random) else {
                steps.append("\(description.name) of \(number) with \(other)")
                list.insert(try editor.object(other))
                return graph.link(side, number, other)
            }
            let place = Int.random(in: 0...related.count, using: &random)
            steps.append("\(description.name) of \(number) with \(other) at \(place)")
            let index = list.index(list.startIndex, offsetBy: place)
            if let old = related.firstIndex(of: other) {
                list.move(try editor.object(other), to: index)
                return graph.link(side, number, other, at: place > old ? place - 1 : place)
            }
            list.insert(try editor.object(other), at: index)
            graph.link(side, number, other, at: place)
        }
    }

    @Test(arguments: 0..<(TestSettings.isLong ? 40 : 16)) func controllersFollowRandomEditsOfARandomModel(seed: UInt64)
        throws
    {
        var series = Series(seed: seed &+ TestSettings.seed &* 1000)
        let store = try LiveStore(series.graph.shape.model)
        let requests = (0..<5).map { _ in GraphRequest(series.graph.shape, &series.random) }
        let editors = [Editor(store.container), Editor(store.container)]
        for editor in editors { try editor.follow(requests) }
        for turn in 0..<40 {
            let (editor, other) = (editors[turn % 2], editors[1 - turn % 2])
            let before = (series.graph, editor.objects)
            for _ in 0..<Int.random(in: 1...8, using: &series.random) {
                try series.edit(editor)
                if Int.random(in: 0..<3, using: &series.random) > 0 { continue }
                editor.context.processPendingChanges()
                try editor.check(series.graph, "seed \(seed), turn \(turn): \(series.steps.suffix(10))")
            }
            let note = "seed \(seed), turn \(turn): \(series.steps.suffix(10))"
            if Int.random(in: 0..<6, using: &series.random) == 0 {
                series.steps.append("roll back")
                try editor.context.rollback()
                (series.graph, editor.objects) = before
                try editor.check(series.graph, note)
                continue
            }
            series.steps.append("save")
            try editor.context.save()
            try editor.check(series.graph, note)
            try other.context.mergeChanges()
            try other.take(series.graph, from: editor)
            try other.check(series.graph, "merged, \(note)")
            for number in requests.indices {
                #expect(try store.container.verifyCache("cache \(number)") == [], "\(requests[number].text): \(note)")
            }
        }
    }
}
