internal import ArgumentParser
internal import FetchIndexCatalogues
internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexEssentials

/// The option `import --relate author=Author.name`: a column whose fields name objects of an entity by a unique
/// attribute.
struct RelateOption {
    let column: String
    let entity: String
    let attribute: String

    init(_ text: String) throws {
        let parts = RequestText.split(text, at: "=")
        let names = parts.count == 2 ? RequestText.split(parts[1], at: ".").map(RequestText.unquoted) : []
        guard names.count == 2, !parts[0].isEmpty, !names.contains("") else {
            throw ValidationError("--relate expects COLUMN=Entity.attribute, not \"\(text)\".")
        }
        column = RequestText.unquoted(parts[0])
        (entity, attribute) = (names[0], names[1])
    }
}

/// The columns of a file that aren't attributes: the number of a row's object, and the related objects.
struct RelatedColumns {
    let columns: [RelatedColumn]
    /// The places of the columns in the file.
    let places: [Int]
    let idPlace: Int?
    /// The numbers of the model's entities by their names, for `object`.
    private let numbers: [String: Int]

    var isEmpty: Bool { columns.isEmpty && idPlace == nil }
    /// The places of all fields that don't belong to an attribute.
    var allPlaces: Set<Int> { Set(places + [idPlace, storePlace].compactMap { $0 }) }
    private let storePlace: Int?
    private let entity: Int
    /// Decides whose objects the numbers of the rows name.
    private(set) var owner: NumberOwner
    /// The store whose numbers new objects get; nil if they get this store's.
    var source: UUID? { owner.source(of: entity) }
    /// Whether numbers name rows of the file before they name stored objects.
    var resolvesInFile: Bool { owner.isKeyed && idPlace != nil }

    private let isJSON: Bool
    private var spellings = KeySpellings()

    init(
        _ names: [String], to entity: Entity, in model: Model, _ relations: [RelateOption], insertsMissing: Bool,
        _ owner: NumberOwner, isJSON: Bool
    ) throws {
        self.isJSON = isJSON
        let number = try model.number(of: entity.name)
        self.entity = number
        self.owner = owner
        var columns: [RelatedColumn] = []
        var places: [Int] = []
        for (place, name) in names.enumerated() {
            let relation = relations.first { $0.column == name }
            if relation == nil && entity.slot(of: name) != nil { continue }
            let column = try RelatedColumn(
                name, of: number, by: relation.map { ($0.entity, $0.attribute) }, insertsMissing: insertsMissing,
                hint: "; --create-related inserts it", in: model)
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

    /// The number and the related objects that a row names. Throws a sentence for what cannot be read.
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
                    reason:
                        "\(number) is the number of an object in another store; --key matches rows with objects by a value"
                )
            }
        }
        links.related = try related(in: row, links.giver)
        if !owner.isKeyed, !owner.isOnly(links.giver), let place = storePlace ?? idPlace {
            throw UnreadableField(
                place: place,
                reason:
                    "its numbers are not of the same store as those of the rows before it; --key matches rows with objects by a value"
            )
        }
        if links.fileNumber == nil, owner.source(of: entity) != nil, let place = idPlace ?? storePlace {
            throw UnreadableField(
                place: place, reason: "a new object beside those of another store needs that one's number")
        }
        return links
    }

    /// The store whose numbers a row has.
    private mutating func giver(in row: FieldRow) throws(UnreadableField) -> NumberGiver {
        guard let storePlace, !row.isNull(storePlace) else { return .own }
        if let giver = owner.giver(row.text(of: storePlace)) { return giver }
        throw UnreadableField(
            place: storePlace, reason: "\"\(row.excerpt(of: storePlace))\" is not the identifier of a store")
    }

    /// The number of a row's object; nil: the next one.
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

    /// The related objects of a row that lacks all of the columns.
    var absent: [RelatedObject] { Array(repeating: .absent, count: columns.count) }

    /// Whether a row lacks all of the columns, and its new object may get the next number.
    mutating func areAbsent(in row: FieldRow) -> Bool {
        guard places.allSatisfy({ row.isAbsent($0) }), idPlace.map({ row.isAbsent($0) }) ?? true else { return false }
        return owner.isKeyed || owner.isOnly(.own)
    }

    /// The related objects that a row names; null and empty fields name none.
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
                    reason: "\"\(row.excerpt(of: place))\" is not the number of an object, as 12 or Entity:12"
                        + (isList ? ", nor a list of such numbers with blanks between them" : ""))
            }
            let isRow = resolvesInFile && link.object.entity == entity
            guard isRow || owner.isKnown(link.object.number, of: link.object.entity, by: giver) else {
                throw UnreadableField(
                    place: place,
                    reason:
                        "\"\(part.excerpt)\" is the number of an object in another store; --relate names objects by a value"
                )
            }
            links.append(link)
        }
        if isList { return .list(links) }
        guard links.count < 2 else {
            throw UnreadableField(place: place, reason: "\(links.count) objects stand where one is expected")
        }
        return links.first.map { .object($0) } ?? .none
    }
}

/// Why a field cannot be read.
struct UnreadableField: Error {
    let place: Int
    let reason: String
}

extension RowLink {
    /// Reads 12, Entity:12, or 12@c0ff, with positions as hexadecimal bytes; 12@@c0ff has only that of the other side.
    init?(catalogueText text: String, in entity: Int, _ numbers: [String: Int]) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let name = parts[0].lastIndex(of: ":")
        let digits = name.map { parts[0][parts[0].index(after: $0)...] } ?? parts[0]
        guard parts.count <= 3, let number = UInt64(digits), (1..<RecordKey.firstTemporaryNumber).contains(number)
        else {
            return nil
        }
        var target = entity
        if let name {
            guard let found = numbers[RequestText.unquoted(String(parts[0][..<name]))] else { return nil }
            target = found
        }
        var positions: [[UInt8]?] = []
        for part in parts.dropFirst() {
            guard case .data(let bytes)? = Value(catalogueText: String(part), as: .data) else { return nil }
            // As positions are made; see `OrderedPosition`.
            guard bytes.isEmpty || (6...64).contains(bytes.count) else { return nil }
            positions.append(bytes.isEmpty ? nil : Array(bytes))
        }
        self.init(
            RecordKey(entity: target, number: number), position: positions.first ?? nil,
            otherPosition: positions.count > 1 ? positions[1] : nil)
    }

    /// The form that is read. `entity` is the destination of the relationship.
    func catalogueText(in entity: Int, _ model: Model) -> String {
        func hexadecimal(_ bytes: [UInt8]?) -> String { Value.data(.init(bytes ?? [])).catalogueText }
        let name = object.entity == entity ? "" : "\(RequestText.quoted(model.entities[object.entity].name)):"
        var text = "\(name)\(object.number)"
        if position != nil || otherPosition != nil { text += "@\(hexadecimal(position))" }
        if otherPosition != nil { text += "@\(hexadecimal(otherPosition))" }
        return text
    }
}
