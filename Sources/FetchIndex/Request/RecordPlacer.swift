internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexModels
internal import FetchIndexValues
/// Places records in an order: decides whether a record is a member, and makes its section value and its sort key.
final class RecordPlacer: RowPlacer {
    private let definition: OrderDefinition
    private let number: Int
    private let model: Model
    let table: PathTable
    let paths: [RelatedPath]
    /// For each path of the table, the slot of the reference with which it begins; nil if it doesn't begin with one.
    private let referenceSlots: [Int?]
    /// The definition's predicate; if it's missing, a predicate that holds for all records.
    let predicate: CompiledPredicate
    private let hasPredicate: Bool
    private let predicateParts: [PredicatePart]
    private let predicateVersions: [String]
    private let section: SectionColumn?
    /// Makes the headings of sections; nil unless sections are related objects.
    let headings: ObjectHeadings?
    private let sortColumns: [SortColumn]
    let columns: AggregateColumns
    /// The slots of the attributes in the aggregates' columns.
    private let columnSlots: [Int]
    private let columnForms: [SummaryForm]
    /// Whether rows have summaries.
    private let hasColumns: Bool
    /// The slots and types of all attributes, in the order in which a fingerprint contains their values; nil if the order
    /// keeps no fingerprint.
    private let fingerprinted: [(slot: Int, type: ValueType)]?
    private let missingValues: [UInt8]
    /// The slots of the entity's own records on which placements depend: those in fingerprints in the order of the digests,
    /// then the others in ascending order.
    let reads: [Int]

    /// Makes a placer for the objects of the entity with the given number.
    init(_ definition: OrderDefinition, _ number: Int, in model: Model) throws {
        let entity = model.entities[number]
        self.definition = definition
        (self.number, self.model) = (number, model)
        let table = PathTable(ofEntity: number, in: model, definition.predicate)
        predicate = try CompiledPredicate(definition.predicate ?? FetchPredicate(value: true), entity, table)
        hasPredicate = definition.predicate != nil
        predicateParts = predicate.parts
        predicateVersions =
            (definition.predicate?.versions ?? [])
            + (table.usesEntityNames ? [CacheIdentity.entityNames(of: model)] : [])
        section = try definition.sectionKey.map { try SectionColumn($0, entity, of: definition.entity, table) }
        headings = try ObjectHeadings(definition, number, in: model)
        sortColumns = try definition.sortKeys.dropFirst(headings?.sortKeyCount ?? 0).map { key in
            if let (expression, type) = try table.aggregate(of: key.attribute, for: "the sort key") {
                return try SortColumn(key, slot: 0, type, of: entity, expression)
            }
            let (slot, type) = try table.requireSlot(of: key.attribute, for: "the sort key")
            return try SortColumn(key, slot: slot, type, of: entity)
        }
        columns = try definition.aggregateColumns(of: entity)
        columnSlots = try columns.columns.map { try entity.requireSlot(of: $0.names[0]) }
        columnForms = columns.columns.map(\.form)
        hasColumns = !columns.isEmpty
        let digested = columns.hasFingerprint ? entity.digestedSlots : []
        fingerprinted = columns.hasFingerprint ? digested.map { ($0, entity.type(at: $0)) } : nil
        var reads = table.reads
        if let section { reads.formUnion(section.reads) }
        reads.formUnion(columnSlots)
        self.reads = digested.isEmpty ? reads.sorted() : digested + reads.subtracting(digested).sorted()
        self.table = table
        paths = table.allPaths
        referenceSlots = table.paths.map { path in
            guard let first = path.steps.first, case .reference = first.kind else { return nil }
            return first.slots[number]
        }
        missingValues = entity.missingValues
    }

    /// The first sort key of the rows in a section, and its column; nil if rows are sorted by their numbers.
    var first: (key: SortKey<ManagedObject>, column: SortColumn)? {
        sortColumns.first.map { (definition.sortKeys[headings?.sortKeyCount ?? 0], $0) }
    }

    func copy() throws -> any RowPlacer { try RecordPlacer(definition, number, in: model) }

    /// The permanent name of a key path, as cache identities contain it; nil if the name isn't a path.
    func permanentName(ofPath name: String) -> String? { table.permanentName(of: name) }

    /// Whether a name in a key path may differ from the permanent name, which cache identities contain.
    var hasRenamedPaths: Bool { paths.contains(where: \.isRenamed) || headings?.isRenamed ?? false }

    /// The versions that affect placements: of data (ICU's and time zones), and of rules that have changed since they
    /// were introduced. Also the names of the entities, if the predicate uses `entity`.
    var versions: [String] {
        predicateVersions + sortColumns.flatMap(\.versions) + (section?.versions ?? [])
            + (headings?.versions ?? [])
    }

    /// Whether the sections' names are numbers or booleans.
    var hasNumberedSections: Bool { headings.map(\.nameType.isNumber) ?? section?.isOfNumbers ?? false }

    var columnTests: [ColumnTest] { hasPredicate ? predicate.columnTests(of: model.entities[number]) : [] }

    func keepMembers(of block: inout RecordBlock) throws {
        if hasPredicate { try block.keep(where: predicateParts) }
    }

    func keepRecords(of block: inout RecordBlock, within bound: [UInt8]) throws {
        guard !bound.isEmpty, section == nil, let column = sortColumns.first else { return }
        try column.keepRecords(of: &block, within: bound)
    }

    var hasBounds: Bool { section == nil && sortColumns.first?.hasBounds ?? false }

    func mayHaveRecords(within bound: [UInt8], _ values: RecordBounds) -> Bool {
        guard !bound.isEmpty, section == nil, let column = sortColumns.first else { return true }
        return column.mayHaveRecords(within: bound, values)
    }

    func mayPrecede(_ values: RecordBounds, _ others: RecordBounds) -> Bool {
        guard section == nil, let column = sortColumns.first else { return false }
        return column.mayPrecede(values, others)
    }

    func placeMember(_ bytes: RawSpan, _ placement: inout RowPlacement) throws {
        let missing = missingValues
        try placeMember(RecordView(bytes, missing: missing.span.bytes), &placement)
    }

    func place(
        _ object: RecordKey, _ bytes: RawSpan, in state: (any RecordState)?, _ placement: inout RowPlacement
    ) throws -> Bool {
        let missing = missingValues
        let record = try RecordView(bytes, missing: missing.span.bytes)
        guard !paths.isEmpty, let state else {
            if try hasPredicate && !predicate.evaluate(record) { return false }
            try placeMember(record, &placement)
            return true
        }
        let related = RelatedRecord(object: object, record: record, bytes: bytes, state: state)
        if try hasPredicate && !predicate.evaluate(row(related)) { return false }
        if let section {
            if headings != nil {
                try section.appendObject(row(related).integer(at: section.slot), to: &placement.key)
            } else {
                try append(section.slot, section.keys, of: related, to: &placement.key) {
                    try section.append($0, slot: $1, to: &$2)
                }
            }
        }
        placement.sectionLength = placement.key.count
        for column in sortColumns {
            let start = placement.key.count
            if let expression = column.expression {
                try column.append(expression, of: row(related), to: &placement.key)
            } else {
                try append(column.slot, column.keys, of: related, to: &placement.key) {
                    try column.append($0, slot: $1, to: &$2)
                }
            }
            if column.isDescending { OrderKey.reverse(&placement.key, from: start) }
            if placement.checkBound() { return true }
        }
        if hasColumns { try appendColumns(record, &placement) }
        return true
    }

    /// An object's record, with the state in which its key paths are followed.
    private struct RelatedRecord: ~Escapable {
        let object: RecordKey
        let record: RecordView
        let bytes: RawSpan
        let state: any RecordState

        @_lifetime(copy record, copy bytes)
        init(object: RecordKey, record: RecordView, bytes: RawSpan, state: any RecordState) {
            self.object = object
            self.record = record
            self.bytes = bytes
            self.state = state
        }
    }

    /// The row from which expressions read. It's made on demand, because most sort keys don't need it: `PathKeys`
    /// caches the bytes of the values to which their paths lead.
    @_lifetime(copy related)
    private func row(_ related: borrowing RelatedRecord) -> RelatedRow {
        let place = RelatedPlace(
            object: related.object, state: related.state, paths: table.paths, model: model, usedNames: table.usedNames)
        return RelatedRow(related.record, related.bytes, place)
    }

    /// Appends the bytes of a column, which the body makes from the row's record and a slot, or from the record and
    /// slot at the end of a path. Appends null if the path doesn't lead to an object.
    private func append(
        _ slot: Int, _ keys: PathKeys, of related: borrowing RelatedRecord, to key: inout [UInt8],
        _ body: (RecordView, Int, inout [UInt8]) throws -> Void
    ) throws {
        guard let index = PathTable.path(ofSlot: slot) else { return try body(related.record, slot, &key) }
        guard let own = referenceSlots[index], let state = related.state.identity else {
            return try appendEnd(slot, row(related), to: &key, body)
        }
        guard let object = try related.record.integer(at: own) else { return OrderKey.appendNull(to: &key) }
        try keys.append(of: object, in: state, to: &key) { try appendEnd(slot, row(related), to: &$0, body) }
    }

    private func appendEnd(
        _ slot: Int, _ row: borrowing RelatedRow, to key: inout [UInt8],
        _ body: (RecordView, Int, inout [UInt8]) throws -> Void
    ) throws {
        let start = key.count
        var made = key
        _ = try row.end(of: slot) { (record, slot) -> Bool? in
            try body(record, slot, &made)
            return true
        }
        key = made
        if key.count == start { OrderKey.appendNull(to: &key) }
    }

    private func placeMember(_ record: RecordView, _ placement: inout RowPlacement) throws {
        try section?.append(record, to: &placement.key)
        placement.sectionLength = placement.key.count
        for column in sortColumns {
            let start = placement.key.count
            try column.append(record, slot: column.slot, to: &placement.key)
            if column.isDescending { OrderKey.reverse(&placement.key, from: start) }
            if placement.checkBound() { return }
        }
        if hasColumns { try appendColumns(record, &placement) }
    }

    private func appendColumns(_ record: RecordView, _ placement: inout RowPlacement) throws {
        if let fingerprinted {
            try placement.appendFingerprint { texts in
                for (slot, type) in fingerprinted { try record.appendFingerprinted(slot, as: type, to: &texts) }
            }
        }
        for (index, slot) in columnSlots.enumerated() {
            let form = columnForms[index]
            try placement.appendAggregated(form) { try record.appendOrderKey(of: slot, as: form.type, to: &$0) }
        }
    }
}
