internal import FetchIndexModels
internal import FetchIndexValues

/// The tables and columns in which a store has the objects of a model: what Core Data's rules of naming give, as far as
/// it's there. The rules are in the article CoreDataLayout.
struct StoreSchema {
    /// An entity's objects: the rows of its topmost superentity's table that have its number in Z_ENT.
    struct Place {
        let entity: String
        let table: String
        /// The entity's number in the store.
        let number: Int64
        /// Whether the table has objects of no other entity; Core Data doesn't look at their Z_ENT then.
        let isAlone: Bool
        /// The columns of attributes, by the attributes' names in the converted model.
        var attributes: [String: AttributeColumn] = [:]
        /// The columns of to-one relationships, by their names in the converted model.
        var references: [String: ReferenceColumn] = [:]
    }

    struct AttributeColumn {
        let name: String
        let type: ValueType
        let isExternal: Bool
        /// Whether values may be JSON: SwiftData writes lists of structures so.
        let mayBeJSON: Bool
        /// Whether values become JSON texts.
        let isDecoded: Bool
    }

    struct ReferenceColumn {
        let name: String
        /// The column of the object's position among the objects of the inverse relationship; nil if that isn't ordered.
        let order: String?
        let destination: String
        /// Whether the relationship is the other side of a to-many relationship that has none in the app's model.
        let isHidden: Bool
    }

    /// The rows of a many-to-many relationship.
    struct Join {
        let entity: String
        let relationship: String
        let destination: String
        let table: String
        /// The columns of the entity's objects and of their related objects.
        let near: String
        let far: String
        /// The columns of the related object's position, and of the object's position in the inverse relationship.
        var nearOrder: String?
        var farOrder: String?
        /// Whether the relationship is its own inverse, so that each row is a link both ways.
        let isReflexive: Bool

        var title: String { "\(entity).\(relationship)" }
    }

    private(set) var places: [Place] = []
    private(set) var joins: [Join] = []
    /// The entities and properties whose tables or columns are missing.
    private(set) var missingEntities: [String] = []
    private(set) var missingProperties: [String] = []
    /// Entities whose number was found by their place, with the names that they have in the store in parentheses.
    private(set) var renamedEntities: [String] = []
    /// Tables of objects and columns of their values that the model has no entities and properties for.
    private(set) var unknownTables: [String] = []
    private(set) var unknownColumns: [String] = []
    let tables: StoreTables
    private let numbers: [String: Int64]
    /// The numbers of all entities of the model in the store.
    var entityNumbers: Set<Int64> { Set(numbers.values) }

    /// `source` is the whole model of the store, which the store contains if it's its `own`; `converter` may have fewer
    /// entities.
    init(_ source: SourceModel, isOwn: Bool, _ converter: ModelConverter, _ tables: StoreTables) {
        self.tables = tables
        let ordered = source.numbered()
        let lineages = source.lineages()
        numbers = tables.numbers(of: ordered, isOwn: isOwn)
        let columns = Self.columns(of: source, ordered, lineages)
        for entity in ordered {
            guard let converted = converter.model.entity(named: entity.name), let root = lineages[entity.name]?.root
            else { continue }
            guard let table = table(of: root), let number = numbers[entity.name] else {
                missingEntities.append(entity.name)
                continue
            }
            let isAlone = lineages.values.count { $0.root == root } == 1
            var place = Place(entity: entity.name, table: table, number: number, isAlone: isAlone)
            let chain = source.chain(of: entity.name)
            addAttributes(converted, chain, columns, to: &place)
            addReferences(converted, chain, converter, columns, to: &place)
            places.append(place)
            if let name = tables.entities[number], name != entity.name, name != entity.formerName {
                renamedEntities.append("\(entity.name) (\(name))")
            }
        }
        addJoins(source, converter)
        addUnknown(lineages, columns)
    }

    /// The table of a topmost entity. After a migration, it may have the entity's former name.
    private func table(of root: String) -> String? {
        let names = [root, numbers[root].flatMap { tables.entities[$0] }].compactMap { $0 }
        return names.lazy.compactMap { tables.name(of: "Z" + $0.uppercased()) }.first
    }

    private mutating func addUnknown(_ lineages: [String: SourceModel.Lineage], _ columns: [String: String]) {
        var known: [String: Set<String>] = [:]
        for root in Set(lineages.values.map(\.root)) {
            guard let table = table(of: root) else { continue }
            let entities = Set(lineages.filter { $0.value.root == root }.keys)
            known[table, default: []].formUnion(
                columns.filter { entities.contains(String($0.key.prefix { $0 != "|" })) }.values.map { $0.uppercased() }
            )
        }
        for place in places {
            known[place.table, default: []].formUnion(place.references.values.map { $0.name.uppercased() })
        }
        unknownTables = tables.objectTables.filter { known[$0] == nil }
        for (table, names) in known.sorted(by: { $0.key < $1.key }) {
            for column in tables.propertyColumns(of: table) where !names.contains(column.uppercased()) {
                unknownColumns.append("\(table).\(column)")
            }
        }
    }

    // MARK: Columns

    /// The columns by root table, declaring entity and property. Of properties with the same name in a table, all but
    /// the first have a digit, by the depth of their entities and then by name.
    private static func columns(
        of source: SourceModel, _ ordered: [SourceModel.Entity], _ lineages: [String: SourceModel.Lineage]
    ) -> [String: String] {
        var properties: [(root: String, depth: Int, name: String, key: String, base: String)] = []
        for entity in ordered {
            guard let lineage = lineages[entity.name] else { continue }
            for attribute in entity.attributes where !attribute.isTransient {
                for (path, part) in source.parts(of: attribute) {
                    properties.append(
                        (lineage.root, lineage.depth, attribute.name, "\(entity.name)|\(path)", part.uppercased()))
                }
            }
            for relationship in entity.relationships where !relationship.isToMany && !relationship.isTransient {
                let name = relationship.name
                properties.append((lineage.root, lineage.depth, name, "\(entity.name)|\(name)", name.uppercased()))
            }
        }
        var columns: [String: String] = [:]
        var counts: [String: Int] = [:]
        let sorted = properties.enumerated().sorted {
            ($0.element.depth, $0.element.name, $0.offset) < ($1.element.depth, $1.element.name, $1.offset)
        }
        for (_, property) in sorted {
            let known = counts["\(property.root)|\(property.base)", default: 0]
            counts["\(property.root)|\(property.base)"] = known + 1
            columns[property.key] = "Z" + property.base + (known == 0 ? "" : "\(known)")
        }
        return columns
    }

    private mutating func addAttributes(
        _ converted: Entity, _ chain: [SourceModel.Entity], _ columns: [String: String], to place: inout Place
    ) {
        for attribute in converted.attributes where attribute.derivation == nil {
            guard
                let (owner, declared) = chain.lazy.compactMap({ entity in
                    entity.attributes.first { $0.name == attribute.name || attribute.name.hasPrefix($0.name + ".") }
                        .map { (entity.name, $0) }
                }).first
            else { continue }
            if let name = tables.column(columns["\(owner)|\(attribute.name)"], of: place.table) {
                place.attributes[attribute.name] = AttributeColumn(
                    name: name, type: attribute.type, isExternal: declared.isExternal,
                    mayBeJSON: !declared.parts.isEmpty && attribute.type == .data,
                    isDecoded: attribute.type == .string && declared.isDecodable(attribute.name))
            } else {
                missingProperties.append("\(converted.name).\(attribute.name)")
            }
        }
    }

    private mutating func addReferences(
        _ converted: Entity, _ chain: [SourceModel.Entity], _ converter: ModelConverter, _ columns: [String: String],
        to place: inout Place
    ) {
        for relationship in converted.relationships where !relationship.isToMany {
            var column = chain.lazy.compactMap { columns["\($0.name)|\(relationship.name)"] }.first
            // The other side of a to-many relationship that has none in the app's model.
            let other = chain.lazy.compactMap { converter.otherSides[$0.name]?[relationship.name] }.first
            if let other {
                column = numbers[other.entity].map { "Z\($0)\(other.relationship.uppercased())" }
            }
            guard let column, let name = tables.column(column, of: place.table) else {
                missingProperties.append("\(converted.name).\(relationship.name)")
                continue
            }
            place.references[relationship.name] = ReferenceColumn(
                name: name, order: tables.column("Z_FOK_" + column.dropFirst(), of: place.table),
                destination: relationship.destination, isHidden: other != nil)
        }
    }

    // MARK: Joins

    private mutating func addJoins(_ source: SourceModel, _ converter: ModelConverter) {
        var seen: Set<String> = []
        for entity in source.entities {
            for declared in entity.relationships where declared.isToMany && !declared.isTransient {
                guard
                    let relationship = converter.model.entity(named: entity.name)?.relationship(named: declared.name)?
                        .description, let inverse = relationship.inverse,
                    let other = converter.model.entity(named: relationship.destination)?.relationship(named: inverse)?
                        .description, other.isToMany, !seen.contains("\(entity.name)|\(declared.name)")
                else { continue }
                let isReflexive = converter.model.isOwnInverse(relationship)
                for owner in source.chain(of: relationship.destination) { seen.insert("\(owner.name)|\(inverse)") }
                if let join = join(of: relationship, in: entity.name, inverse, isReflexive) {
                    joins.append(join)
                } else {
                    missingProperties.append("\(entity.name).\(declared.name)")
                }
            }
        }
    }

    private func join(
        of relationship: RelationshipDescription, in entity: String, _ inverse: String, _ isReflexive: Bool
    ) -> Join? {
        guard let own = numbers[entity], let other = numbers[relationship.destination] else { return nil }
        let (name, inverse) = (relationship.name.uppercased(), inverse.uppercased())
        // A column has the name of the relationship that leads to its objects.
        let far = "Z_\(other)\(name)"
        let near = isReflexive ? "REFLEXIVE" : "Z_\(own)\(inverse)"
        let named = isReflexive ? [far] : ["Z_\(own)\(name)", "Z_\(other)\(inverse)"]
        for (table, isNamed) in tables.joins(named: named) {
            guard let farColumn = tables.column(far, of: table, orNumbered: true),
                let nearColumn = tables.column(near, of: table, orNumbered: true, not: farColumn),
                isNamed || !isReflexive
            else { continue }
            return Join(
                entity: entity, relationship: relationship.name, destination: relationship.destination, table: table,
                near: nearColumn, far: farColumn,
                nearOrder: tables.column("Z_FOK_" + farColumn.dropFirst(2), of: table),
                farOrder: tables.column("Z_FOK_" + nearColumn.dropFirst(2), of: table), isReflexive: isReflexive)
        }
        return nil
    }
}

extension SourceModel {
    /// An entity and its superentities, the entity first.
    fileprivate func chain(of name: String) -> [Entity] {
        var chain: [Entity] = []
        var next: String? = name
        while chain.count <= entities.count, let found = entities.first(where: { $0.name == next }) {
            chain.append(found)
            next = found.superentity
        }
        return chain
    }

    /// The parts of an attribute: their dotted names, and the names of which their columns are made. An attribute that
    /// isn't composite is its only part.
    fileprivate func parts(of attribute: Attribute, prefix: String = "") -> [(path: String, column: String)] {
        let name = prefix + attribute.name
        if attribute.parts.isEmpty || attribute.isOnlyPart { return [(name, attribute.name)] }
        return attribute.parts.flatMap { self.parts(of: $0, prefix: name + ".") }
    }
}
