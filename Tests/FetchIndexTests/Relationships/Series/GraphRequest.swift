import FetchIndex
import FetchIndexTestSupport

/// A random request with key paths through the relationships of a random model, and its expected results for plain
/// objects.
struct GraphRequest {
    let entity: Int
    let sortKey: String
    let isDescending: Bool
    let predicate: String?
    let sectionKey: SectionKey?
    /// The sort key of an object; nil is null.
    let key: (PlainGraph, Int) -> Int?
    let isMember: (PlainGraph, Int) -> Bool
    /// The value by which an object is grouped into a section; nil is null.
    let group: (PlainGraph, Int) -> Int?

    private typealias Path = (text: String, entity: Int, follow: (PlainGraph, Int) -> Int?)

    init(_ shape: GraphShape, _ random: inout SeededGenerator) {
        let root = Int.random(in: shape.superentities.indices, using: &random)
        entity = root
        isDescending = Bool.random(using: &random)
        let sorted = Self.path(from: root, shape, &random)
        let many = shape.sides(of: root).filter { shape.sides[$0].isMany }
        let toMany = many.randomElement(using: &random)
        switch (toMany, Int.random(in: 0..<4, using: &random)) {
        case (let side?, 0):
            sortKey = "\(shape.sides[side].name).@count"
            key = { graph, object in graph.related(object, side).count }
        case (let side?, 1):
            sortKey = "\(shape.sides[side].name).@max.value"
            key = { graph, object in graph.related(object, side).compactMap { graph.objects[$0]?.value }.max() }
        default:
            sortKey = sorted.text + "value"
            key = { graph, object in sorted.follow(graph, object).flatMap { graph.objects[$0]?.value } }
        }
        let filtered = Self.path(from: root, shape, &random)
        let limit = Int.random(in: 0..<8, using: &random)
        switch (toMany, Int.random(in: 0..<6, using: &random)) {
        case (let side?, 0):
            predicate = "ANY \(shape.sides[side].name).value > \(limit)"
            isMember = { graph, object in
                graph.related(object, side).contains { graph.objects[$0]?.value.map { $0 > limit } ?? false }
            }
        case (let side?, 1):
            predicate = "NONE \(shape.sides[side].name).value > \(limit)"
            isMember = { graph, object in
                !graph.related(object, side).contains { graph.objects[$0]?.value.map { $0 > limit } ?? false }
            }
        case (let side?, 2):
            predicate = "\(shape.sides[side].name).@count > 1"
            isMember = { graph, object in graph.related(object, side).count > 1 }
        case (_, 3):
            predicate = "\(filtered.text)value > \(limit)"
            isMember = { graph, object in
                filtered.follow(graph, object).flatMap { graph.objects[$0]?.value }.map { $0 > limit } ?? false
            }
        case (_, 4) where !filtered.text.isEmpty:
            predicate = "\(filtered.text.dropLast()) == NIL"
            isMember = { graph, object in filtered.follow(graph, object) == nil }
        default:
            predicate = nil
            isMember = { _, _ in true }
        }
        let grouped = Self.path(from: root, shape, &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where !grouped.text.isEmpty:
            sectionKey = .relationship(String(grouped.text.dropLast()), name: "name")
            group = { graph, object in grouped.follow(graph, object) }
        case 1:
            sectionKey = .attribute(grouped.text + "value")
            group = { graph, object in grouped.follow(graph, object).flatMap { graph.objects[$0]?.value } }
        default:
            sectionKey = nil
            group = { _, _ in nil }
        }
    }

    /// A path of up to three to-one relationships. Its text ends with a dot unless it is empty.
    private static func path(from entity: Int, _ shape: GraphShape, _ random: inout SeededGenerator) -> Path {
        var (text, end, steps) = ("", entity, [Int]())
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let next = shape.sides(of: end).filter { !shape.sides[$0].isMany }
            guard let side = next.randomElement(using: &random) else { break }
            text += shape.sides[side].name + "."
            end = shape.sides[side].destination
            steps.append(side)
        }
        return (text, end, { graph, object in steps.reduce(object) { graph.related($0 ?? -1, $1).first } })
    }

    var text: String {
        "\(GraphShape.name(entity)) where \(predicate ?? "-") by \(sortKey)\(isDescending ? ":desc" : "") in "
            + (sectionKey.map { "\($0)" } ?? "-")
    }

    func fetchRequest() throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: GraphShape.name(entity))
        request.sortKeys = [SortKey(sortKey, isDescending ? .descending : .ascending)]
        request.predicate = try predicate.map { try FetchPredicate(format: $0, argumentArray: []) }
        return request
    }

    /// The expected rows by section. Rows with equal keys are in the order of their `ids`.
    func sections(of graph: PlainGraph, _ ids: [Int: ObjectID]) -> [[ObjectID]] {
        func identifiers(_ rows: [Int]) -> [ObjectID] { rows.compactMap { ids[$0] } }
        func isBefore(_ left: Int, _ right: Int) -> Bool {
            let (one, other) = (key(graph, left), key(graph, right))
            if one == other { return identifiers([left]).lexicographicallyPrecedes(identifiers([right])) }
            let isLess = one.map { one in other.map { one < $0 } ?? false } ?? true
            return isLess != isDescending
        }
        let rows = graph.all(entity).filter { isMember(graph, $0) }
        if sectionKey == nil { return [identifiers(rows.sorted(by: isBefore))] }
        let sections = Dictionary(grouping: rows) { group(graph, $0) }.values.map { $0.sorted(by: isBefore) }
        return sections.sorted { isBefore($0[0], $1[0]) }.map(identifiers)
    }
}
