internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// The headings of sections that are related objects: the name, then the leading sort keys that are attributes of the
/// same object, so that its rows needn't contain them.
final class ObjectHeadings {
    let entities: Set<Int>
    /// The number of leading sort keys that are in headings.
    let sortKeyCount: Int
    /// The slots that headings contain, by entity.
    let reads: [Int: Set<Int>]
    /// Whether caches use other names of the relationship or of an attribute.
    let isRenamed: Bool
    private let model: Model
    let nameType: ValueType
    private let columns: [SortColumn]
    /// The slots of the name and of the columns, by entity.
    private let slots: [Int: [Int]]

    /// Nil unless sections are related objects. `number` is the entity of the rows.
    init?(_ definition: OrderDefinition, _ number: Int, in model: Model) throws {
        guard case .relationship(let path, let name)? = definition.sectionKey else { return nil }
        let names = path.pathNames
        guard let related = try RelatedPath.following(names, from: number, in: model), !related.steps.isEmpty else {
            throw RequestError.wrongType(
                "the section key \(SectionKey.relationship(path, name: name)) needs a to-one relationship, but "
                    + "\(model.entities[number].name).\(path) is not one")
        }
        let destination = model.entities[related.destination]
        self.model = model
        isRenamed = related.isRenamed || destination.hasRenames
        entities = related.steps.last?.to ?? []
        nameType = destination.type(at: try destination.requireSlot(of: name))
        var attributes = [name]
        var columns: [SortColumn] = []
        for key in definition.sortKeys {
            guard key.attribute.hasPrefix(path + ".") else { break }
            let attribute = String(key.attribute.dropFirst(path.count + 1))
            guard let slot = destination.slot(of: attribute) else { break }
            columns.append(try SortColumn(key, slot: slot, destination.type(at: slot), of: destination))
            attributes.append(attribute)
        }
        self.columns = columns
        sortKeyCount = columns.count
        slots = try Dictionary(
            uniqueKeysWithValues: entities.map { number in
                (number, try attributes.map { try model.entities[number].requireSlot(of: $0) })
            })
        reads = slots.mapValues { Set($0) }
    }

    /// The versions of ICU's data that headings depend on.
    var versions: [String] { columns.compactMap { $0.collator?.version } }

    var ofSections: SectionHeadings { SectionHeadings(of: entities, make: heading) }

    private func heading(of object: RecordKey, _ record: RawSpan?) throws -> [UInt8] {
        var heading: [UInt8] = []
        guard let record, let slots = slots[object.entity] else {
            OrderKey.appendNull(to: &heading)
            for column in columns {
                let start = heading.count
                OrderKey.appendNull(to: &heading)
                if column.isDescending { OrderKey.reverse(&heading, from: start) }
            }
            return heading
        }
        let entity = model.entities[object.entity]
        let view = try RecordView(record, of: entity)
        try view.appendOrderKey(of: slots[0], as: nameType, to: &heading)
        for (column, slot) in zip(columns, slots.dropFirst()) {
            let start = heading.count
            try column.append(view, slot: slot, to: &heading)
            if column.isDescending { OrderKey.reverse(&heading, from: start) }
        }
        return heading
    }
}
