internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// Checks references and link keys. A required reference must not be null. Each reference that isn't null must have a
/// link key, and must lead to an object of the right entity, which must exist unless the reference may dangle. There
/// must be as many links as such references, and as many links to each object as are counted.
struct LinkCheck {
    private let reader: StoreReader
    private let links: [EntityLinks?]
    private var expected = 0
    private(set) var defects: [String] = []

    init(_ reader: StoreReader) {
        self.reader = reader
        links = reader.model.entities.map(\.links)
    }

    /// Checks the references of a record. Must be called with each record.
    mutating func read(_ object: RecordKey, _ record: RawSpan) {
        guard let references = links[object.entity]?.references, !references.isEmpty else { return }
        let name = reader.name(of: object)
        do {
            let entity = reader.model.entities[object.entity]
            let view = try RecordView(record, of: entity)
            for reference in references {
                let relationship = "\(name): its relationship \(reference.relationship)"
                guard let link = try StoredLink(reference, of: view, object) else {
                    if !reference.isOptional { defects.append("\(relationship) is required, but null") }
                    continue
                }
                expected += 1
                let target = reader.name(of: link.target)
                if !(try reader.view.get(link.key, in: reader.tables.unique, { _ in })) {
                    defects.append("\(relationship) has no link to \(target)")
                }
                if !reference.destinations.contains(link.target.entity) {
                    defects.append("\(relationship) leads to \(target), which is of another entity")
                } else if !reference.mayDangle, try !reader.storedRecord(link.target, { _ in }) {
                    defects.append("\(relationship) leads to \(target), which is missing")
                } else if reference.isSymmetric {
                    var far: RecordKey? = link.target
                    if let other = reference.other { far = try view.key(at: other) }
                    if let far, try !hasTurned(reference, of: object, link.target, far) {
                        let near = reader.name(of: reference.other == nil ? object : link.target)
                        let property = mutualName(reference, of: object)
                        defects.append(
                            "\(near): its relationship \(property) is its own inverse and leads to \(reader.name(of: far)), which "
                                + "lacks the link back")
                    }
                }
            }
        } catch {
            defects.append("\(name): its relationships: \(error)")
        }
    }

    /// The name of a relationship that is its own inverse, also if its links are join objects.
    private func mutualName(_ reference: EntityLinks.Reference, of holder: RecordKey) -> String {
        if reference.other == nil { return reference.relationship }
        let storage = StoredRelationship.Storage.join(entity: holder.entity, side: 0)
        let all = reader.model.entities.lazy.flatMap(\.storedRelationships)
        return all.first { !$0.isRemoved && $0.storage == storage }?.description.name ?? reference.relationship
    }

    /// Whether a link of a relationship that is its own inverse has its turned link. In a join entity, `target` is the near
    /// object and `far` the other one; otherwise both are the object to which the record refers.
    private func hasTurned(
        _ reference: EntityLinks.Reference, of object: RecordKey, _ target: RecordKey, _ far: RecordKey
    ) throws -> Bool {
        if reference.other != nil {
            let references = links[object.entity]?.references ?? []
            return try reader.join(of: references, between: far, and: target) != nil
        }
        guard let back = links[far.entity]?.references.first(where: { $0.name == reference.name }) else { return true }
        let entity = reader.model.entities[far.entity]
        var turned: RecordKey?
        let isThere = try reader.storedRecord(far) { record in
            let view = try RecordView(record, of: entity)
            turned = try view.key(at: back.slot)
        }
        return !isThere || turned == object
    }

    /// Checks the link keys. Must be called after the last record. Returns the number of link keys, including the keys
    /// with the counts of links.
    mutating func end() throws -> Int {
        var (keys, found) = (0, 0)
        var open: CountedLinks?
        try reader.view.walk(reader.tables.unique, from: [LinkKey.firstByte].span.bytes) { cursor in
            keys += 1
            guard let link = LinkKey(cursor.key) else {
                defects.append("a link has a malformed key")
                return true
            }
            if let holder = link.holder {
                found += 1
                read(cursor.key, cursor.value, of: link, holder, &open)
            } else {
                endCount(open)
                open = begin(cursor.key, cursor.value, of: link)
            }
            return true
        }
        endCount(open)
        if found != expected {
            defects.append("there are \(counted(found, "link")) for \(counted(expected, "reference"))")
        }
        return keys
    }

    /// The links of a relationship to one object, whose keys begin with `key`.
    private struct CountedLinks {
        let key: [UInt8]
        let target: RecordKey
        let count: UInt64
        var found: UInt64 = 0
    }

    private mutating func begin(_ key: RawSpan, _ value: RawSpan, of link: LinkKey) -> CountedLinks? {
        do {
            let count = try LinkKey.count(value, under: key)
            return CountedLinks(key: [UInt8](copying: key), target: link.target, count: count)
        } catch {
            let holders = reader.entityName(link.name.entity) ?? "objects"
            defects.append("links of \(holders) to \(reader.name(of: link.target)): \(error)")
            return nil
        }
    }

    private mutating func read(
        _ key: RawSpan, _ value: RawSpan, of link: LinkKey, _ holder: RecordKey, _ open: inout CountedLinks?
    ) {
        func note(_ defect: String) {
            defects.append("the link of \(reader.name(of: holder)) to \(reader.name(of: link.target)) \(defect)")
        }
        if !LinkKey.isWhole(key, value) { note("does not match its checksum") }
        if let links = open, [UInt8](copying: key).starts(with: links.key) {
            open?.found += 1
        } else {
            note("is not counted")
        }
    }

    private mutating func endCount(_ links: CountedLinks?) {
        guard let links, links.count != links.found else { return }
        defects.append(
            "links to \(reader.name(of: links.target)) are counted as \(links.count), but there are \(links.found)")
    }
}
