internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// Makes the headings of sections that are related objects. A heading contains the object's name, and its values for
/// the leading sort keys that are attributes of the object, so that the rows of the section needn't contain them.
final class ObjectHeadings {
    let entities: Set<Int>
    /// The number of leading sort keys that headings contain.
    let sortKeyCount: Int
    /// The slots of the objects' attributes that headings contain, by entity.
    let reads: [Int: Set<Int>]
    /// Whether the name of a relationship or of an attribute may differ from its permanent name, which cache identities
    /// contain.
    let isRenamed: Bool
    private let model: Model
    let nameType: ValueType
    private let columns: [SortColumn]
    /// The slots of the name and of the sort keys, by entity.
    private let slots: [Int: [Int]]

    /// Returns nil unless sections are related objects. `number` is the number of the rows' entity.
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

    /// The versions of ICU's data on which headings depend.
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
