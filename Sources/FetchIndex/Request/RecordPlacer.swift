internal import OrderCaches
internal import Records
internal import Models
/// Places the records of an entity by a definition: member or not, section value, sort key.
final class RecordPlacer: RowPlacer {
    private struct SortColumn {
        let slot: Int
        let type: ValueType
        let isDescending: Bool
        let collator: TextCollator?
    }

    private let definition: OrderDefinition
    private let entity: Entity
    /// True for all records when the definition has no predicate.
    let predicate: CompiledPredicate
    private let hasPredicate: Bool
    private let predicateVersions: [String]
    private let section: SectionColumn?
    private let sortColumns: [SortColumn]
    let columns: AggregateColumns
    /// Of the columns.
    private let columnSlots: [Int]
    private let columnForms: [SummaryForm]
    private let hasColumns: Bool
    private let missingValues: [UInt8]
    /// Most entities have no attributes with default values. Asking the array would retain it for each record.
    private let hasMissingValues: Bool
    /// The slots of the attributes that placements depend on.
    let reads: Set<Int>

    init(_ definition: OrderDefinition, _ entity: Entity) throws {
        self.definition = definition
        self.entity = entity
        var reads: Set<Int> = []
        predicate = try CompiledPredicate(definition.predicate ?? FetchPredicate(value: true), entity) {
            reads.insert($0)
        }
        hasPredicate = definition.predicate != nil
        predicateVersions = definition.predicate?.dependsOnICU == true ? [TextFolding.version] : []
        section = try definition.sectionKey.map { try SectionColumn($0, entity, of: definition.entity) }
        if let section { reads.formUnion(section.reads) }
        sortColumns = try definition.sortKeys.map { key in
            let slot = try entity.requireSlot(of: key.attribute)
            reads.insert(slot)
            let type = entity.attribute(at: slot).type
            let collator = try TextCollator(key.textOrder)
            if collator != nil && type != .string {
                throw RequestError.wrongType(
                    "the sort key \(key) needs a text, and \(entity.name).\(key.attribute) is \(type.nameWithArticle)")
            }
            return SortColumn(slot: slot, type: type, isDescending: key.direction == .descending, collator: collator)
        }
        columns = try definition.aggregateColumns(of: entity)
        columnSlots = try columns.columns.map { try entity.requireSlot(of: $0.names[0]) }
        columnForms = columns.columns.map(\.form)
        hasColumns = !columnSlots.isEmpty
        reads.formUnion(columnSlots)
        self.reads = reads
        missingValues = entity.missingValues
        hasMissingValues = !missingValues.isEmpty
    }

    func copy() throws -> any RowPlacer { try RecordPlacer(definition, entity) }

    /// The versions of ICU's data that placements depend on.
    var versions: [String] {
        predicateVersions + sortColumns.compactMap { $0.collator?.version } + (section?.versions ?? [])
    }

    func place(_ bytes: RawSpan, _ placement: inout RowPlacement) throws -> Bool {
        if hasMissingValues { return try placeLackingValues(bytes, &placement) }
        let record = try RecordView(bytes)
        if try hasPredicate && !predicate.evaluate(record) { return false }
        try placeMember(record, &placement)
        return true
    }

    @inline(never)
    private func placeLackingValues(_ bytes: RawSpan, _ placement: inout RowPlacement) throws -> Bool {
        let missing = missingValues
        let record = try RecordView(bytes, missing: missing.span.bytes)
        if try hasPredicate && !predicate.evaluate(record) { return false }
        try placeMember(record, &placement)
        return true
    }

    /// Apart from the predicate, which most records of a scan fail.
    @inline(never)
    private func placeMember(_ record: RecordView, _ placement: inout RowPlacement) throws {
        try section?.append(record, to: &placement.key)
        placement.sectionLength = placement.key.count
        for column in sortColumns {
            let start = placement.key.count
            if let collator = column.collator, let range = try record.range(of: column.slot) {
                collator.withSortKey(of: record.bytes(range)) {
                    OrderKey.appendBytes($0, as: .string, to: &placement.key)
                }
            } else {
                try record.appendOrderKey(of: column.slot, as: column.type, to: &placement.key)
            }
            if column.isDescending { OrderKey.reverse(&placement.key, from: start) }
        }
        if hasColumns { try appendColumns(record, &placement) }
    }

    private func appendColumns(_ record: RecordView, _ placement: inout RowPlacement) throws {
        for (index, slot) in columnSlots.enumerated() {
            let form = columnForms[index]
            try placement.appendAggregated(form) { try record.appendOrderKey(of: slot, as: form.type, to: &$0) }
        }
    }
}
