import FetchIndexModels
import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

extension LinkSeries {
    private static let paths: [(from: Int, names: [String])] = [
        (book, ["author"]), (book, ["cover"]), (book, ["tags"]), (book, ["author", "books"]),
        (book, ["tags", "books"]), (author, ["books"]), (author, ["books", "tags"]), (author, ["books", "cover"]),
        (cover, ["book", "author"]), (tag, ["books", "author"]), (tag, ["books", "tags", "books"]),
    ]

    private func key(_ object: LinkGraph.Object) -> RecordKey {
        RecordKey(entity: object.entity, number: object.number)
    }

    private func objects(_ entity: Int, in graph: LinkGraph) -> [LinkGraph.Object] {
        (1...60 as ClosedRange<UInt64>).map { LinkGraph.Object(entity: entity, number: $0) }.filter(graph.has)
    }

    // MARK: One state

    func check(_ graph: LinkGraph, in snapshot: Snapshot, _ comment: String) throws {
        for number in 1...40 as ClosedRange<UInt64> {
            let books = graph.books.filter { $0.value.author == number }.keys.sorted()
            try expect(books, toAuthor, LinkSeries.author, number, snapshot, comment)
            let covered = graph.books.filter { $0.value.cover == number }.keys.sorted()
            try expect(covered, toCover, LinkSeries.cover, number, snapshot, comment)
            // A book's links are in the order of its tags, and a tag's links in the order of its books.
            let ofBook = graph.links.filter { $0.value.book == number }.sorted { $0.value.tag < $1.value.tag }.map(
                \.key)
            try expect(ofBook, toBook, LinkSeries.book, number, snapshot, comment)
            let ofTag = graph.links.filter { $0.value.tag == number }.sorted { $0.value.book < $1.value.book }.map(
                \.key)
            try expect(ofTag, toTag, LinkSeries.tag, number, snapshot, comment)
        }
        for (entity, names) in Self.paths { try checkPath(names, from: entity, graph, snapshot, comment) }
    }

    /// Expects these holders of links to an object: all of them, the two after each link, and the last one before each
    /// link.
    private func expect(
        _ holders: [UInt64], _ reference: EntityLinks.Reference, _ entity: Int, _ number: UInt64, _ snapshot: Snapshot,
        _ comment: String
    ) throws {
        let target = RecordKey(entity: entity, number: number)
        let comment = "\(comment): \(reference.relationship) of \(entity) \(number)"
        var sortKeys: [[UInt8]] = []
        var found: [UInt64] = []
        try snapshot.forEachLink(reference.name, to: target) { holder, sortKey in
            sortKeys.append([UInt8](copying: sortKey))
            found.append(holder.number)
            return true
        }
        #expect(found == holders, "\(comment)")
        #expect(try snapshot.linkCount(reference.name, to: target) == holders.count, "\(comment)")
        #expect(try snapshot.lastLink(reference.name, to: target)?.holder.number == holders.last, "\(comment)")
        for (index, sortKey) in sortKeys.enumerated() {
            var after: [UInt64] = []
            try snapshot.forEachLink(reference.name, to: target, after: sortKey) { holder, _ in
                after.append(holder.number)
                return after.count < 2
            }
            #expect(after == Array(holders.dropFirst(index + 1).prefix(2)), "\(comment), after \(index)")
            let before = try snapshot.lastLink(reference.name, to: target, before: sortKey)?.holder.number
            #expect(before == (index == 0 ? nil : holders[index - 1]), "\(comment), before \(index)")
        }
    }

    /// Follows a path forwards from each object, and backwards from each object that may be at its end.
    private func checkPath(
        _ names: [String], from entity: Int, _ graph: LinkGraph, _ snapshot: Snapshot, _ comment: String
    ) throws {
        let comment = "\(comment): \(names) from \(entity)"
        let path = try #require(try RelatedPath.following(names, from: entity, in: snapshot.model))
        var starts: [LinkGraph.Object: Set<RecordKey>] = [:]
        for object in objects(entity, in: graph) {
            let expected = graph.ends(of: object, names)
            for end in expected { starts[end, default: []].insert(key(object)) }
            let record = try #require(try snapshot.copy(of: key(object)))
            var ends: [RecordKey] = []
            try path.forEachEnd(of: key(object), record.span.bytes, in: snapshot) { end, _ in
                ends.append(end)
                return true
            }
            #expect(ends == expected.map(key), "\(comment): \(object)")
            let count = try path.endCount(of: key(object), record.span.bytes, in: snapshot)
            #expect(count == expected.count, "\(comment): \(object)")
        }
        let last = try #require(path.steps.last).to
        for end in last.flatMap({ objects($0, in: graph) }) {
            var found: Set<RecordKey> = []
            try path.addStarts(to: key(end), in: snapshot, &found)
            let expected = starts[end] ?? []
            // If records may refer to deleted objects, a path that is followed backwards may lead through them, and so
            // to more objects.
            #expect(
                graph.rule == .noAction ? found.isSuperset(of: expected) : found == expected,
                "\(comment), back from \(end)")
        }
    }

    // MARK: Two states

    /// Reconstructs the state before a commit from the state after it and its changes, and expects the links of the
    /// real state before it. Expects that the changes lead to all objects that exist in both states and from which a
    /// path leads to other objects than before.
    func checkStateBefore(_ snapshot: Snapshot, _ old: LinkGraph, _ before: Snapshot, _ comment: String) throws {
        var changes: [RecordChange] = []
        for entity in snapshot.model.entities.indices {
            try snapshot.netChanges(of: entity, from: before.commit) { changes.append($0) }
        }
        let state = ChangedState(before: changes, snapshot)
        for (reference, entity) in [
            (toAuthor, LinkSeries.author), (toCover, LinkSeries.cover), (toBook, LinkSeries.book),
            (toTag, LinkSeries.tag),
        ] {
            for number in 1...40 as ClosedRange<UInt64> {
                let target = RecordKey(entity: entity, number: number)
                let expected = try before.holders(of: reference.name, to: target)
                let comment = "\(comment): \(reference.relationship) of \(entity) \(number) before"
                let holders = try state.holders(of: reference.name, to: target)
                #expect(holders.sorted() == expected.sorted(), "\(comment)")
                #expect(try state.holderCount(of: reference.name, to: target) == expected.count, "\(comment)")
                var isThere = false
                _ = try state.record(target) { _ in isThere = true }
                #expect(try isThere == (before.copy(of: target) != nil), "\(comment)")
            }
        }
        let changed = Set(changes.map(\.object))
        for (entity, names) in Self.paths {
            // Under no action, a book may still refer to a deleted author, which the graph doesn't have. So paths that
            // end with `author` aren't compared.
            if graph.rule == .noAction && names.last == "author" { continue }
            let path = try #require(try RelatedPath.following(names, from: entity, in: snapshot.model))
            var starts = changed
            for change in changes { try path.addStarts(through: change, from: before, to: snapshot, &starts) }
            for number in 1...40 as ClosedRange<UInt64> {
                let object = LinkGraph.Object(entity: entity, number: number)
                guard old.has(object), graph.has(object), old.ends(of: object, names) != graph.ends(of: object, names)
                else { continue }
                #expect(starts.contains(key(object)), "\(comment): \(names) from \(object) leads elsewhere")
            }
        }
    }
}
