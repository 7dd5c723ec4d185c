internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// Reads the objects of a store, and notes what can't be taken over.
final class ObjectReader {
    let copy: StoreCopy
    let schema: StoreSchema
    /// The model that the store's objects are to have.
    let model: Model
    var differences = DifferenceList()
    /// Whether differences are noted; they are noted when the objects are read for the first time.
    var notes = true
    /// The numbers of the objects of each place of the schema, and their count.
    private(set) var numbers: [SeenObjects] = []
    private(set) var counts: [Int] = []
    /// The sums of the objects' version numbers, which each save raises, by place.
    private var versions: [Int64] = []
    /// The number of links in all joins.
    private(set) var linkCount = 0
    /// The keys of the objects that are read, by place, in ascending order; all objects of other places.
    var only: [Int: [Int64]] = [:]
    /// The places in which the objects of an entity and its subentities are.
    private var placesOfEntity: [String: [Int]] = [:]
    /// Required properties that objects lack.
    private(set) var lacking: Set<Declared> = []
    private(set) var lacks = DifferenceList()
    /// Whether a value is in a file of 16 MiB or more.
    var hasLargeFiles = false
    /// Attributes with values that can't be decoded.
    var undecodable: Set<Declared> = []

    struct Declared: Hashable {
        let entity: String
        let property: String
    }

    /// An object, by the place of its entity in the schema.
    struct Object: Hashable {
        let place: Int
        let number: UInt64
    }

    struct Link {
        let object: Object
        /// The position among the objects of the other side; nil if it's unknown.
        let order: Int64?
        var otherOrder: Int64?
    }

    /// Reads the numbers of all objects. Throws `CoreDataFileError`. O(n).
    init(_ copy: StoreCopy, _ schema: StoreSchema, _ model: Model) throws {
        (self.copy, self.schema, self.model) = (copy, schema, model)
        numbers = schema.places.map { _ in SeenObjects() }
        counts = schema.places.map { _ in 0 }
        versions = schema.places.map { _ in 0 }
        for entity in model.entities {
            placesOfEntity[entity.name] = schema.places.indices.filter {
                guard let other = model.entity(named: schema.places[$0].entity) else { return false }
                return model.isSubentity(other, of: entity.name) || other.name == entity.name
            }
        }
        for table in Set(schema.places.map(\.table)).sorted() { try readNumbers(of: table) }
        for table in schema.unknownTables {
            let query = "SELECT 1 FROM \(StoreDatabase.quoted(table)) LIMIT 1"
            guard (try? copy.reading { try $0.hasRow(query) }) ?? false else { continue }
            note(.leftOut, "tables of objects that the model does not have", table)
        }
    }

    /// A store gives no number so far behind the last one.
    private static let greatestGap: Int64 = 1 << 28

    private func readNumbers(of table: String) throws {
        let places = schema.places.indices.filter { schema.places[$0].table == table }
        let alone = places.first { schema.places[$0].isAlone }
        let byNumber = Dictionary(places.map { (schema.places[$0].number, $0) }) { first, _ in first }
        let known = schema.entityNumbers
        var last: [Int: Int64] = [:]
        let version = schema.tables.column("Z_OPT", of: table).map(StoreDatabase.quoted) ?? "0"
        try forEachRow(of: table, ["Z_PK", "Z_ENT", version], noting: true) { row in
            guard let key = row.integer(0), key > 0, UInt64(key) < RecordKey.firstTemporaryNumber else {
                return note(.leftOut, "objects whose number is not from 1", "\(table) \(row.integer(0) ?? 0)")
            }
            let number = row.integer(1)
            guard let place = alone ?? number.flatMap({ byNumber[$0] }) else {
                // The entity may have been left out on demand.
                if let number, known.contains(number) { return }
                return note(.leftOut, "objects of an unknown entity", "\(table) \(key)")
            }
            guard model.entity(named: schema.places[place].entity)?.isAbstract == false else {
                return note(.leftOut, "objects of abstract entities", "\(schema.places[place].entity)/p\(key)")
            }
            guard key - (last[place] ?? 0) < Self.greatestGap else {
                let name = "\(schema.places[place].entity)/p\(key)"
                return note(.leftOut, "objects whose numbers follow a gap of more than 268,435,455", name)
            }
            guard key != last[place] else {
                throw CoreDataFileError(path: copy.path, reason: "\(table) has two rows with the key \(key)")
            }
            last[place] = key
            numbers[place].insert(UInt64(key))
            counts[place] += 1
            versions[place] &+= row.integer(2) ?? 0
        }
    }

    var versionsByEntity: [String: Int64] {
        Dictionary(zip(schema.places.map(\.entity), versions)) { first, _ in first }
    }

    /// The number of objects that are read.
    var readCount: Int { schema.places.indices.reduce(0) { $0 + (only[$1]?.count ?? counts[$1]) } }

    /// Calls the body with the rows of an entity's table; see `StoreDatabase`.
    private func forEachRow(
        of table: String, _ columns: [String], where condition: String? = nil, in keys: [Int64]? = nil,
        noting: Bool = false, isWanted: (Int64) -> Bool = { _ in true },
        _ body: (StoreDatabase.Row) throws -> Void
    ) throws {
        if let keys {
            return try copy.reading {
                try $0.forEachRow(of: table, columns, key: "Z_PK", in: keys, where: condition, body)
            }
        }
        let greatest = schema.places.filter { $0.table == table }.compactMap { schema.tables.greatestKeys[$0.number] }
        try copy.reading { database in
            try database.forEachRow(
                of: table, columns, key: "Z_PK", where: condition, upTo: greatest.max() ?? 0, isWanted: isWanted,
                unreadable: { key in if noting { note(.leftOut, "rows that cannot be read", "\(table) \(key)") } }, body
            )
        }
    }

    func note(_ kind: CoreDataDifference.Kind, _ what: String, _ name: @autoclosure () -> String) {
        if notes { differences.note(kind, what, name()) }
    }

    func name(of object: Object) -> String { "\(schema.places[object.place].entity)/p\(object.number)" }

    /// The object of an entity, or of a subentity, that has a key; nil if it's missing.
    func object(of entity: String, key: Int64) -> Object? {
        guard key > 0 else { return nil }
        let number = UInt64(key)
        return placesOfEntity[entity]?.first { numbers[$0].contains(number) }.map { Object(place: $0, number: number) }
    }

    /// Reads all objects and links, for the notes. Throws `CoreDataFileError`. O(n log n).
    func survey() throws {
        for place in schema.places.indices where counts[place] > 0 {
            guard let entity = model.entity(named: schema.places[place].entity) else { continue }
            try forEachObject(at: place, entity.attributes, schema.places[place].references.keys.sorted()) { _, _, _ in
            }
        }
        for join in schema.joins { try forEachLinks(of: join) { linkCount += $1.count } }
    }

    // MARK: Objects

    /// Calls the body with each object of a place, by ascending numbers: its values of the attributes and its links of
    /// the to-one relationships with these names. The body may remove the values. Throws `CoreDataFileError`, and rethrows the body's errors. O(n log n).
    func forEachObject(
        at place: Int, _ attributes: [AttributeDescription], _ references: [String],
        _ body: (_ number: UInt64, _ values: inout [Value], _ links: [Link?]) throws -> Void
    ) throws {
        let stored = schema.places[place]
        guard let entity = model.entity(named: stored.entity) else { return }
        var names = ["Z_PK"]
        let attributeReaders = attributes.map { attribute in
            let column = stored.attributes[attribute.name].map { ($0, Self.add($0.name, to: &names)) }
            return (attribute, column)
        }
        let linkReaders = references.map { linkReader($0, of: entity, stored, &names) }
        let condition = stored.isAlone ? nil : "Z_ENT = \(stored.number)"
        var values: [Value] = []
        var links: [Link?] = []
        let isKnown = { (key: Int64) in self.numbers[place].contains(UInt64(clamping: key)) }
        try forEachRow(of: stored.table, names, where: condition, in: only[place], isWanted: isKnown) { row in
            guard let key = row.integer(0), key > 0, numbers[place].contains(UInt64(key)) else { return }
            let object = Object(place: place, number: UInt64(key))
            values.removeAll(keepingCapacity: true)
            links.removeAll(keepingCapacity: true)
            for (attribute, column) in attributeReaders {
                let value =
                    try column.map { try self.value(row, $1, $0, attribute.name, of: object) } ?? attribute.defaultValue
                if value.isNull, !attribute.isOptional, attribute.derivation == nil { lack(attribute.name, object) }
                values.append(value)
            }
            for reader in linkReaders { links.append(link(row, reader, of: object)) }
            try body(object.number, &values, links)
        }
    }

    private func lack(_ property: String, _ object: Object) {
        lacking.insert(Declared(entity: schema.places[object.place].entity, property: property))
        lacks.note(
            .changed, "required properties that objects lack, which become optional",
            "\(name(of: object)).\(property)")
    }

    // MARK: Links

    /// How the link of a to-one relationship is read.
    private final class LinkReader {
        let name: String
        let destination: String
        let column: Int?
        /// In a relationship that is its own inverse, the column with the key to which the related object leads.
        let back: Int?
        let order: Int?
        let isOneToOne: Bool
        let isOptional: Bool
        /// In a one-to-one relationship, the objects to which a link was read, by place.
        var linked: [Int: SeenObjects] = [:]

        init(
            name: String, destination: String, column: Int?, back: Int?, order: Int?, isOneToOne: Bool, isOptional: Bool
        ) {
            (self.name, self.destination, self.column, self.back, self.order) = (name, destination, column, back, order)
            (self.isOneToOne, self.isOptional) = (isOneToOne, isOptional)
        }
    }

    /// Appends the expressions to a query's columns that the reader of a relationship needs.
    private func linkReader(
        _ name: String, of entity: Entity, _ stored: StoreSchema.Place, _ names: inout [String]
    ) -> LinkReader {
        let reference = stored.references[name]
        let column = (reference?.name).map { Self.add($0, to: &names) }
        let back = reference.flatMap { addBack($0, name, of: entity, stored.table, to: &names) }
        let order = (reference?.order).map { Self.add($0, to: &names) }
        return LinkReader(
            name: name, destination: reference?.destination ?? "", column: column, back: back, order: order,
            isOneToOne: isOneToOne(name, of: entity),
            isOptional: entity.relationship(named: name)?.description.isOptional ?? true)
    }

    /// Appends a column to a query's columns, and returns its index.
    private static func add(_ column: String, to names: inout [String]) -> Int {
        names.append(StoreDatabase.quoted(column))
        return names.count - 1
    }

    /// Appends the key to which the related object's column leads, in a relationship that is its own inverse.
    private func addBack(
        _ reference: StoreSchema.ReferenceColumn, _ name: String, of entity: Entity, _ table: String,
        to names: inout [String]
    ) -> Int? {
        guard let relationship = entity.relationship(named: name)?.description, model.isOwnInverse(relationship),
            !copy.database.isDamaged
        else { return nil }
        let (own, table) = (StoreDatabase.quoted(reference.name), StoreDatabase.quoted(table))
        names.append("(SELECT other.\(own) FROM \(table) AS other WHERE other.Z_PK = \(table).\(own))")
        return names.count - 1
    }

    private func isOneToOne(_ relationship: String, of entity: Entity) -> Bool {
        guard let description = entity.relationship(named: relationship)?.description, let inverse = description.inverse
        else { return false }
        let other = model.entity(named: description.destination)?.relationship(named: inverse)?.description
        return other.map { !$0.isToMany } ?? false
    }

    private func link(_ row: StoreDatabase.Row, _ reader: LinkReader, of object: Object) -> Link? {
        let link = reader.column.flatMap { found(row, $0, reader, of: object) }
        if link == nil, !reader.isOptional { lack(reader.name, object) }
        return link
    }

    private func found(_ row: StoreDatabase.Row, _ column: Int, _ reader: LinkReader, of object: Object) -> Link? {
        if row.kind(column) == .null { return nil }
        guard let target = row.integer(column).flatMap({ self.object(of: reader.destination, key: $0) }) else {
            note(.leftOut, "links to objects that are missing", "\(name(of: object)).\(reader.name)")
            return nil
        }
        if let back = reader.back, row.integer(back).map({ UInt64(clamping: $0) }) != object.number {
            note(
                .leftOut, "links that only one of the two objects has, in relationships that are their own inverses",
                "\(name(of: object)).\(reader.name)")
            return nil
        }
        if reader.isOneToOne {
            if reader.linked[target.place]?.contains(target.number) ?? false {
                note(
                    .leftOut, "links to objects that another one has, in one-to-one relationships",
                    "\(name(of: object)).\(reader.name)")
                return nil
            }
            reader.linked[target.place, default: SeenObjects()].insert(target.number)
        }
        return Link(object: target, order: reader.order.flatMap { row.integer($0) })
    }
}
