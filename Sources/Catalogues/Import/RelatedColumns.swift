internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexValues

/// The columns of a file that aren't attributes: the number of a row's object, the store that gave the number, and the
/// related objects.
struct RelatedColumns {
    let columns: [RelatedColumn]
    /// The indexes of `columns` among the file's columns.
    private let places: [Int]
    let idPlace: Int?
    private let storePlace: Int?
    private let entity: Int
    /// The numbers of the entities, by their names.
    private let numbers: [String: Int]
    /// Decides to which store's objects the numbers in rows belong.
    private(set) var owner: NumberOwner
    private let isJSON: Bool
    private var spellings = KeySpellings()

    var isEmpty: Bool { columns.isEmpty && idPlace == nil }
    /// The indexes of all columns that aren't attributes.
    var allPlaces: Set<Int> { Set(places + [idPlace, storePlace].compactMap { $0 }) }
    /// The store from which new objects come, with their object numbers; nil for this store.
    var source: UUID? { owner.source(of: entity) }
    /// Whether a number names the row of the file that has it, and a stored object only if no row has it.
    var resolvesInFile: Bool { owner.isKeyed && idPlace != nil }

    /// `names` are the columns of the file.
    init(
        _ names: [String], to entity: Entity, in model: Model, _ request: ImportRequest, _ owner: NumberOwner
    ) throws {
        isJSON = request.format == .jsonl
        let number = try model.number(of: entity.name)
        self.entity = number
        self.owner = owner
        var columns: [RelatedColumn] = []
        var places: [Int] = []
        for (place, name) in names.enumerated() {
            let relation = request.relations.first { $0.column == name }
            if relation == nil && entity.slot(of: name) != nil { continue }
            let column = try RelatedColumn(
                name, of: number, by: relation.map { ($0.entity, [$0.attribute]) },
                insertsMissing: request.insertsRelated,
                hint: request.missingObjectHint, in: model)
            guard let column else { continue }
            columns.append(column)
            places.append(place)
        }
        (self.columns, self.places) = (columns, places)
        idPlace = names.firstIndex(of: RecordKey.numberName(entity.has))
        storePlace = names.firstIndex(of: RecordKey.storeName(entity.has))
        numbers = Dictionary(
            model.entities.indices.filter { !model.entities[$0].isDropped }.map { (model.entities[$0].name, $0) }
        ) { first, _ in first }
    }

    /// Reads the object number and the related objects that a row names.
    mutating func links(in row: FieldRow) throws(UnreadableField) -> RowLinks {
        var links = RowLinks(giver: try giver(in: row), related: [])
        links.fileNumber = try number(in: row)
        if let number = links.fileNumber, let idPlace {
            if owner.isKeyed {
                if owner.wasStored(number, of: entity, by: links.giver) { links.number = number }
            } else if owner.isKnown(number, of: entity, by: links.giver) {
                links.number = number
            } else {
                throw UnreadableField(
                    place: idPlace,
                    reason: "\(number) is the number of an object in another store", remedy: .key)
            }
        }
        links.related = try related(in: row, links.giver)
        if !owner.isKeyed, !owner.isOnly(links.giver), let place = storePlace ?? idPlace {
            throw UnreadableField(
                place: place,
                reason: "the row is from another store than earlier rows", remedy: .key)
        }
        if links.fileNumber == nil, owner.source(of: entity) != nil, let place = idPlace ?? storePlace {
            throw UnreadableField(
                place: place, reason: "a new object needs the number that it has in the store of the other objects")
        }
        return links
    }

    /// Returns the store that gave a row's numbers.
    private mutating func giver(in row: FieldRow) throws(UnreadableField) -> NumberGiver {
        guard let storePlace, !row.isNull(storePlace) else { return .own }
        if let giver = owner.giver(row.text(of: storePlace)) { return giver }
        throw UnreadableField(
            place: storePlace, reason: "\"\(row.excerpt(of: storePlace))\" is not the identifier of a store")
    }

    /// Returns the number of a row's object; nil if the row has none.
    private func number(in row: FieldRow) throws(UnreadableField) -> UInt64? {
        guard let idPlace, !row.isNull(idPlace) else { return nil }
        guard let number = Self.number(row.text(of: idPlace)) else {
            throw UnreadableField(
                place: idPlace, reason: "\"\(row.excerpt(of: idPlace))\" is not the number of an object")
        }
        return number
    }

    private static func number(_ text: String) -> UInt64? {
        UInt64(text).flatMap { (1..<RecordKey.firstTemporaryNumber).contains($0) ? $0 : nil }
    }

    static func isNumber(_ text: String) -> Bool { number(text) != nil }

    /// Whether a row lacks the number and the related objects, and needs no number: its object is found by a key, or
    /// may get the next number.
    mutating func areAbsent(in row: FieldRow) -> Bool {
        guard places.allSatisfy({ row.isAbsent($0) }), idPlace.map({ row.isAbsent($0) }) ?? true else { return false }
        return owner.isKeyed || owner.isOnly(.own)
    }

    /// Returns the related objects that a row names. A null field stands for none, which removes all links. So does an
    /// empty one, unless the column names objects by texts: an empty text may name an object.
    private mutating func related(in row: FieldRow, _ giver: NumberGiver) throws(UnreadableField) -> [RelatedObject] {
        var related: [RelatedObject] = []
        for (column, place) in zip(columns, places) {
            if row.isAbsent(place) {
                related.append(.absent)
            } else {
                related.append(row.isNull(place) ? .none : try object(in: row, column, place, giver))
            }
        }
        return related
    }

    private mutating func object(
        in row: FieldRow, _ column: RelatedColumn, _ place: Int, _ giver: NumberGiver
    ) throws(UnreadableField) -> RelatedObject {
        let text = row.text(of: place)
        if let type = column.keyType {
            if text.isEmpty && type != .string { return .none }
            let excerpt = row.excerpt(of: place)
            guard let value = Value(catalogueText: text, as: type) else {
                throw UnreadableField(place: place, reason: "\"\(excerpt)\" \(type.refusal(of: text))")
            }
            let fault = spellings.fault(
                text, of: value, isLiteral: row.isLiteral(place), inJSON: isJSON, column: place)
            if let fault { throw UnreadableField(place: place, reason: fault) }
            return .named(value)
        }
        let isList = column.kind == .list
        var links: [RowLink] = []
        for part in RequestText.split(text, at: " ") where !part.isEmpty {
            guard let link = RowLink(catalogueText: part, in: column.destination, numbers) else {
                throw UnreadableField(
                    place: place,
                    reason: "\"\(row.excerpt(of: place))\" is not the number of an object, such as 12 or Entity:12"
                        + (isList ? ", or a list of such numbers with blanks between them" : ""))
            }
            let isRow = resolvesInFile && link.object.entity == entity
            guard isRow || owner.isKnown(link.object.number, of: link.object.entity, by: giver) else {
                throw UnreadableField(
                    place: place,
                    reason: "\"\(part.excerpt)\" is the number of an object in another store", remedy: .relation)
            }
            links.append(link)
        }
        if isList { return .list(links) }
        guard links.count < 2 else {
            throw UnreadableField(place: place, reason: "it names \(links.count) objects instead of one")
        }
        return links.first.map { .object($0) } ?? .none
    }
}

/// The reason why a field can't be read.
struct UnreadableField: Error {
    let place: Int
    let reason: String
    var remedy: ImportRemedy?
}
