internal import FetchIndexEssentials
internal import FetchIndexModels

/// The model of a store's objects, as far as they are to be taken over.
struct StoreModel {
    /// The whole model, by which tables and columns are named.
    let whole: SourceModel
    /// Whether the store contains the model.
    let isOwn: Bool
    /// The model without the entities that are left out, and without rules that the objects break.
    private(set) var chosen: SourceModel
    private(set) var notes = DifferenceList()

    /// Finds the model: the store's own, otherwise the one that the options name. Throws `CoreDataFileError`.
    init(of copy: StoreCopy, _ tables: StoreTables, _ options: CoreDataImportOptions) throws {
        let own: SourceModel?
        do { own = try copy.modelArchive().map { try SourceModel(archive: $0) } } catch let error
            as KeyedArchive.Malformed
        {
            throw CoreDataFileError(path: copy.path, reason: "the store's model is damaged: \(error.reason)")
        }
        isOwn = own != nil
        if let own {
            whole = own
            chosen = own
            if let url = options.model {
                let same = try Self.version(equalTo: own, at: url)
                // Not all archived predicates can be read.
                chosen.requests = try (same ?? Self.fitting(url, tables)).requests
                if same == nil {
                    notes.note(
                        .changed, "the model: the store's own is used, and \(url.lastPathComponent) is another", nil)
                }
            }
        } else if let url = options.model {
            whole = try Self.fitting(url, tables)
            chosen = whole
        } else {
            throw CoreDataFileError(
                path: copy.path, reason: "the store does not contain its model, and the app's is not given",
                remedy: .model)
        }
        try choose(options, path: copy.path)
    }

    /// The versions of the model at a URL, the current one first.
    private static func versions(_ url: URL) throws -> [SourceModel] {
        let names = try ModelBundle.versions(at: url)
        if names.count <= 1 { return [try ModelBundle(url, version: nil).source()] }
        let current = try? ModelBundle(url, version: nil).source()
        return try [current].compactMap { $0 } + names.map { try ModelBundle(url, version: $0).source() }
    }

    private static func version(equalTo own: SourceModel, at url: URL) throws -> SourceModel? {
        let model = Set(try ModelConverter(own).model.entities)
        return try versions(url).first { Set(try ModelConverter($0).model.entities) == model }
    }

    /// The version of a model that fits the store's tables best; of equal ones the current one.
    private static func fitting(_ url: URL, _ tables: StoreTables) throws -> SourceModel {
        let versions = try versions(url).map { source in
            let schema = StoreSchema(source, isOwn: false, try ModelConverter(source), tables)
            let names = Set(source.entities.map(\.name))
            let unknown = tables.entities.values.count { !names.contains($0) }
            let missing = schema.missingEntities.count + schema.missingProperties.count
            return (source, unknown + missing + schema.unknownTables.count + schema.unknownColumns.count)
        }
        return versions.min { $0.1 < $1.1 }?.0 ?? SourceModel()
    }

    private mutating func choose(_ options: CoreDataImportOptions, path: String) throws {
        let known = Set(whole.entities.map(\.name))
        for name in (options.entities ?? []) + options.without where !known.contains(name) {
            let names = known.sorted().joined(separator: ", ")
            throw CoreDataFileError(path: path, reason: "its model has no entity \(name), only \(names)")
        }
        var removed = Set(options.without)
        if let wanted = options.entities {
            let kept = Set(
                whole.entities.map(\.name).filter { name in
                    wanted.contains { whole.isEntity(name, $0) || whole.isEntity($0, name) }
                })
            removed.formUnion(known.subtracting(kept))
        }
        if removed.isEmpty { return }
        for name in chosen.remove(removed) {
            notes.note(.leftOut, "relationships to entities that are left out", name)
        }
        if chosen.entities.isEmpty { throw CoreDataFileError(path: path, reason: "all of its entities are left out") }
    }

    // MARK: Archives

    /// Makes transformable attributes, and SwiftData's lists of structures, texts of JSON, except those whose values
    /// can't be decoded.
    mutating func decode(except undecodable: Set<ObjectReader.Declared>) {
        for entity in chosen.entities.indices {
            let name = chosen.entities[entity].name
            let kept = Set(undecodable.filter { whole.isEntity($0.entity, name) }.map(\.property))
            for place in chosen.entities[entity].attributes.indices {
                let original = whole.entities.first { $0.name == name }?.attributes.first {
                    $0.name == chosen.entities[entity].attributes[place].name
                }
                if let original {
                    chosen.entities[entity].attributes[place].setTypes(of: original, except: kept)
                }
            }
        }
    }

    // MARK: Broken rules

    /// Makes properties optional, because objects lack them.
    mutating func makeOptional(_ properties: Set<ObjectReader.Declared>) {
        for property in properties {
            for entity in chosen.entities.indices where whole.isEntity(property.entity, chosen.entities[entity].name) {
                Self.makeOptional(property.property, among: &chosen.entities[entity].attributes)
                for place in chosen.entities[entity].relationships.indices
                where chosen.entities[entity].relationships[place].name == property.property {
                    chosen.entities[entity].relationships[place].isOptional = true
                }
            }
        }
    }

    /// Makes an attribute optional, or a part of a composite one, by its name in the converted model.
    private static func makeOptional(_ name: String, among attributes: inout [SourceModel.Attribute]) {
        for place in attributes.indices {
            let own = attributes[place].name
            if own == name { attributes[place].isOptional = true }
            if name.hasPrefix(own + ".") {
                makeOptional(String(name.dropFirst(own.count + 1)), among: &attributes[place].parts)
            }
        }
    }

    /// Removes the uniqueness of values that were found to break it when they were written.
    mutating func dropConstraints(_ broken: Set<CoreDataStore.BrokenConstraint>) {
        for constraint in broken {
            for place in chosen.entities.indices where whole.isEntity(constraint.entity, chosen.entities[place].name) {
                let entity = chosen.entities[place].name
                chosen.entities[place].uniqueLists.removeAll { list in
                    guard list.joined(separator: ", ") == constraint.attributes else { return false }
                    notes.note(
                        .changed, "uniqueness of values that are equal here, or too long, which is dropped",
                        "\(entity).\(constraint.attributes)")
                    return true
                }
            }
        }
    }

    /// Removes the uniqueness of values that occur twice, or that are too long for it.
    mutating func dropBrokenConstraints(_ tables: StoreTables, in copy: StoreCopy) throws -> Bool {
        var isBroken = false
        let converter = try ModelConverter(chosen)
        let schema = StoreSchema(whole, isOwn: isOwn, converter, tables)
        for place in chosen.entities.indices {
            let entity = chosen.entities[place].name
            try chosen.entities[place].uniqueLists.removeAll { list in
                guard let converted = converter.model.entity(named: entity),
                    list.allSatisfy({ converter.model.isKey($0, of: converted) }),
                    let broken = try schema.breaks(list, of: entity, in: whole, copy)
                else { return false }
                notes.note(.changed, broken, "\(entity).\(list.joined(separator: ", "))")
                isBroken = true
                return true
            }
        }
        return isBroken
    }
}

extension SourceModel {
    /// Whether an entity is another one, or a subentity of it.
    func isEntity(_ name: String, _ other: String) -> Bool {
        var next: String? = name
        for _ in 0...entities.count {
            if next == other { return true }
            next = entities.first { $0.name == next }?.superentity
        }
        return false
    }
}

extension StoreSchema {
    /// The greatest length of unique values together, in bytes; a zero byte counts twice. LMDB's keys have 511 bytes, and
    /// each value a few more.
    private static let greatestUnique = 400

    /// Why the objects of an entity and its subentities break a uniqueness constraint; nil if they keep it. Throws
    /// `CoreDataFileError`. O(n log n), or O(n) with the index that Core Data makes.
    fileprivate func breaks(
        _ names: [String], of entity: String, in source: SourceModel, _ copy: StoreCopy
    ) throws -> String? {
        guard let place = places.first(where: { $0.entity == entity }) else { return nil }
        let columns = names.compactMap { place.attributes[$0]?.name ?? place.references[$0]?.name }
            .map(StoreDatabase.quoted)
        guard columns.count == names.count else { return nil }
        let numbers = places.filter { source.isEntity($0.entity, entity) }.map { "\($0.number)" }
        let own = place.isAlone ? "" : "Z_ENT IN (\(numbers.joined(separator: ", "))) AND "
        let present = columns.map { "\($0) NOT NULL" }.joined(separator: " AND ")
        let rows = "\(StoreDatabase.quoted(place.table)) WHERE \(own)\(present)"
        let group = columns.joined(separator: ", ")
        let byteCount = columns.map { "length(CAST(\($0) AS BLOB))" }.joined(separator: " + ")
        // The text of the bytes in hexadecimal digits has at least as many pairs of zeros as there are zero bytes.
        let length = columns.map { column in
            let digits = "hex(CAST(\(column) AS BLOB))"
            return "length(\(digits)) / 2 + (length(\(digits)) - length(replace(\(digits), '00', ''))) / 2"
        }.joined(separator: " + ")
        return try copy.reading { database in
            if database.isDamaged { return "uniqueness in a damaged store, which is dropped" }
            if try database.hasRow("SELECT 1 FROM \(rows) GROUP BY \(group) HAVING count(*) > 1 LIMIT 1") {
                return "uniqueness of values that occur twice, which is dropped"
            }
            // Nearly all values are so short that their zero bytes needn't be counted.
            let isLong = "(\(byteCount)) * 2 > \(Self.greatestUnique) AND \(length) > \(Self.greatestUnique)"
            if try database.hasRow("SELECT 1 FROM \(rows) AND \(isLong) LIMIT 1") {
                return "uniqueness of values of more than \(Self.greatestUnique) bytes, which is dropped"
            }
            return nil
        }
    }
}

extension SourceModel.Attribute {
    /// Whether values can be archives or JSON: of a transformable attribute, or of data in a composite one.
    fileprivate func isArchive(inComposite: Bool) -> Bool {
        type == "Transformable" || inComposite && type == "Binary" && !isExternal
    }

    /// Whether the attribute or its part of a name in the converted model is decodable.
    func isDecodable(_ name: String) -> Bool {
        func find(_ attribute: Self, _ prefix: String, _ inComposite: Bool) -> Bool {
            let own = prefix + attribute.name
            if attribute.parts.isEmpty { return own == name && attribute.isArchive(inComposite: inComposite) }
            if attribute.isOnlyPart { return own == name && attribute.parts[0].isArchive(inComposite: true) }
            return attribute.parts.contains { find($0, own + ".", true) }
        }
        return find(self, "", false)
    }

    /// Makes decodable attributes texts, except those with these names in the converted model.
    fileprivate mutating func setTypes(
        of original: Self, except kept: Set<String>, prefix: String = "", inComposite: Bool = false
    ) {
        let own = prefix + name
        if original.parts.isEmpty {
            if original.isArchive(inComposite: inComposite) { type = kept.contains(own) ? original.type : "String" }
            return
        }
        let inner = isOnlyPart ? prefix : own + "."
        for place in parts.indices where original.parts.indices.contains(place) {
            parts[place].setTypes(of: original.parts[place], except: kept, prefix: inner, inComposite: true)
        }
    }
}
