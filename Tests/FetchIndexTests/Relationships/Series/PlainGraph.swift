import FetchIndex
import FetchIndexTestSupport

/// A random model of entities with relationships. Each entity has the attributes `value` and `name`; some entities may
/// be subentities.
struct GraphShape {
    struct Side {
        let entity: Int
        let destination: Int
        let name: String
        let isMany: Bool
        let isOrdered: Bool
        let rule: DeleteRule
        /// The index of the inverse relationship's side.
        let inverse: Int
    }

    /// The superentity of each entity, if any.
    private(set) var superentities: [Int?] = []
    private(set) var sides: [Side] = []

    init(_ random: inout SeededGenerator) {
        for number in 0..<Int.random(in: 2...5, using: &random) {
            let isSubentity = number > 0 && Int.random(in: 0..<3, using: &random) == 0
            superentities.append(isSubentity ? Int.random(in: 0..<number, using: &random) : nil)
        }
        for _ in 0..<Int.random(in: 2...6, using: &random) { addPair(&random) }
    }

    private mutating func addPair(_ random: inout SeededGenerator) {
        let entities = (0..<2).map { _ in Int.random(in: superentities.indices, using: &random) }
        let (first, second) = (sides.count, sides.count + 1)
        let rules: [DeleteRule] = [.nullify, .nullify, .nullify, .cascade]
        let kinds = (0..<2).map { _ in Int.random(in: 0..<3, using: &random) }
        let chosen = (0..<2).map { _ in rules[Int.random(in: rules.indices, using: &random)] }
        for (own, index) in [first, second].enumerated() {
            sides.append(
                Side(
                    entity: entities[own], destination: entities[1 - own], name: "r\(index)", isMany: kinds[own] > 0,
                    isOrdered: kinds[own] == 2, rule: chosen[own], inverse: own == 0 ? second : first))
        }
    }

    static func name(_ entity: Int) -> String { "E\(entity)" }

    func isKind(_ entity: Int, of ancestor: Int) -> Bool {
        entity == ancestor || superentities[entity].map { isKind($0, of: ancestor) } ?? false
    }

    /// The sides of an entity's relationships, inherited ones included.
    func sides(of entity: Int) -> [Int] { sides.indices.filter { isKind(entity, of: sides[$0].entity) } }

    var model: Model {
        Model(
            entities: superentities.indices.map { entity in
                let isRoot = superentities[entity] == nil
                return Entity(
                    Self.name(entity),
                    isRoot ? [AttributeDescription("value", .integer), AttributeDescription("name", .string)] : [],
                    relationships: sides.filter { $0.entity == entity }.map { side in
                        side.isMany
                            ? RelationshipDescription(
                                side.name, toMany: Self.name(side.destination), inverse: sides[side.inverse].name,
                                ordered: side.isOrdered, deleteRule: side.rule)
                            : RelationshipDescription(
                                side.name, toOne: Self.name(side.destination), inverse: sides[side.inverse].name,
                                deleteRule: side.rule)
                    }, superentity: superentities[entity].map(Self.name))
            })
    }
}

/// The expected objects of a random model, by numbers that the test assigns.
struct PlainGraph {
    struct Object {
        let entity: Int
        var value: Int?
        /// The related objects by side, in their order.
        var related: [Int: [Int]] = [:]
    }

    let shape: GraphShape
    var objects: [Int: Object] = [:]

    func all(_ entity: Int) -> [Int] {
        objects.filter { shape.isKind($0.value.entity, of: entity) }.map(\.key).sorted()
    }

    func related(_ object: Int, _ side: Int) -> [Int] { objects[object]?.related[side] ?? [] }

    /// Links two objects on both sides; a to-one side drops its former link. An object that is already related keeps
    /// its place, unless a place is given.
    mutating func link(_ side: Int, _ object: Int, _ other: Int, at place: Int? = nil) {
        let description = shape.sides[side]
        if related(object, side).contains(other) {
            guard let place else { return }
            objects[object]?.related[side]?.removeAll { $0 == other }
            objects[object]?.related[side]?.insert(other, at: place)
            return
        }
        if !description.isMany { for former in related(object, side) { unlink(side, object, former) } }
        if !shape.sides[description.inverse].isMany {
            for former in related(other, description.inverse) { unlink(side, former, other) }
        }
        let count = related(object, side).count
        objects[object]?.related[side, default: []].insert(other, at: place ?? count)
        objects[other]?.related[description.inverse, default: []].append(object)
    }

    mutating func unlink(_ side: Int, _ object: Int, _ other: Int) {
        objects[object]?.related[side]?.removeAll { $0 == other }
        objects[other]?.related[shape.sides[side].inverse]?.removeAll { $0 == object }
    }

    /// Deletes an object, and applies the delete rules.
    mutating func delete(_ object: Int) {
        guard let gone = objects[object] else { return }
        var doomed: [Int] = []
        for (side, others) in gone.related {
            for other in others {
                unlink(side, object, other)
                if shape.sides[side].rule == .cascade { doomed.append(other) }
            }
        }
        objects[object] = nil
        for other in doomed { delete(other) }
    }
}
