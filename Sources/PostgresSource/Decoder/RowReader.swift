package import FetchIndex
package import FetchIndexModels
internal import FetchIndexValues

/// Builds records of an entity from rows of its table, which were copied or streamed.
package struct RowReader {
    package let table: RowTable
    package var entity: Entity { table.entity }
    let title: String
    /// Names and types of the columns, by their index in a row; nil for columns that aren't followed.
    let columns: [(name: String, type: ValueType)?]
    /// The elements' types of columns with arrays, by the columns' index in a row; nil for other columns.
    private let elements: [UInt32?]
    /// For each slot of the entity, the index of its value in a row; nil if rows lack the value.
    private let places: [Int?]
    /// The origin of each value of the key, in the order of the table's key slots.
    let keyParts: [KeyPart]

    enum KeyPart {
        /// The value of the row at a place.
        case column(Int)
        /// The digest of a row without a key.
        case digest
        case sourceName
    }
    /// The source's name.
    let sourceName: Value
    /// These indexes in the order of the followed table's key columns.
    let keyColumnPlaces: [Int]
    /// The slots that rows lack, except slots of columns that only other sources have: a stored object keeps its values in
    /// these slots.
    private let otherSlots: Set<Int>
    private let form: RowForm
    private let rule: UnstorableRule
    private let replaced: ReplacedValues
    /// The buffer in which records are built. It is reused, to save allocations.
    private var builder = RowBuilder()
    /// For a table without a key, the columns that make a row's digest, in the order of their slots.
    let digestPlaces: [Int]
    /// Whether the table has no key.
    let isWholeRow: Bool
    /// The digest of the row that is read now, and the number of rows that are equal to it; nil if the table has a key.
    var wholeRow: (digest: Value, count: Int)?

    /// Makes a reader of rows whose columns have the given names, in order. `others` are the store's other sources. Throws
    /// `SourceError` if the key isn't unique, or isn't among the columns.
    package init(
        _ followed: FollowedSource.Table, _ names: [String], of source: FollowedSource? = nil,
        besides others: OtherSources = OtherSources(), _ replaced: ReplacedValues = ReplacedValues(), in model: Model
    ) throws {
        (rule, self.replaced) = (followed.unstorable, replaced)
        let sourceName = Value.string(source?.name ?? SourceName.main)
        self.sourceName = sourceName
        guard let table = try RowTable(followed, of: source, besides: others, in: model),
            let columnPlaces = Self.places(
                of: followed.key.map { table.entity.slot(of: $0) ?? -1 }, names, table.entity)
        else {
            throw SourceError(
                .refused, "\(followed.entity).\(followed.keyTitle) is not unique, or is missing in rows")
        }
        let entity = table.entity
        let keySlots = followed.key.map { entity.slot(of: $0) ?? -1 }
        let (columns, elements, found) = Self.columns(named: names, of: followed, entity)
        (self.table, title) = (table, "\(followed.schema).\(followed.name)")
        (self.columns, self.elements) = (columns, elements)
        var places = found
        keyColumnPlaces = columnPlaces
        isWholeRow = followed.wholeRow != nil
        digestPlaces = followed.wholeRow == nil ? [] : places.compactMap(\.self)
        let wholeRow = followed.wholeRow.map { [entity.slot(of: $0.digest), entity.slot(of: $0.count)] } ?? []
        keyParts = table.keySlots.map { slot in
            keySlots.firstIndex(of: slot).map { .column(columnPlaces[$0]) }
                ?? (slot == wholeRow.first ? .digest : .sourceName)
        }
        // The two values come after the columns' values.
        for (place, slot) in wholeRow.enumerated() { if let slot { places[slot] = names.count + place } }
        self.places = places
        let shard = followed.shard.flatMap { entity.slot(of: $0.attribute) }
        let foreign = Set(others.columns(of: followed.entity).compactMap { entity.slot(of: $0) })
        otherSlots = Set(places.indices.filter { places[$0] == nil && $0 != shard && !foreign.contains($0) })
        form = RowForm(
            of: entity, columnOfSlot: places, mayUpdate: true, constants: shard.map { [$0: sourceName] } ?? [:])
    }

    /// The followed columns among the columns with these names: their names and types, and the types of arrays' elements,
    /// by their index in a row; and their indexes, by the entity's slots.
    private static func columns(
        named names: [String], of followed: FollowedSource.Table, _ entity: Entity
    ) -> (columns: [(name: String, type: ValueType)?], elements: [UInt32?], places: [Int?]) {
        let known = Dictionary(followed.columns.map { ($0.name, $0.element) }) { first, _ in first }
        var elements = [UInt32?](repeating: nil, count: names.count)
        var places = [Int?](repeating: nil, count: entity.slots.count)
        var columns = [(name: String, type: ValueType)?](repeating: nil, count: names.count)
        for (place, name) in names.enumerated() {
            // Rows that were sent before a column was renamed have its former name.
            guard let slot = entity.slot(of: name), let element = known[entity.attribute(at: slot).name] else {
                continue
            }
            // A column that isn't followed may have a former name of one that is.
            if let other = places[slot] {
                guard name == entity.attribute(at: slot).name else { continue }
                (columns[other], elements[other]) = (nil, nil)
            }
            places[slot] = place
            elements[place] = element
            columns[place] = (name, entity.type(at: slot))
        }
        return (columns, elements, places)
    }

    /// The indexes of slots' columns among names, which may be former ones; nil if one is missing.
    private static func places(of slots: [Int], _ names: [String], _ entity: Entity) -> [Int]? {
        let places = slots.compactMap { slot -> Int? in
            if slot < 0 { return nil }
            return names.firstIndex(of: entity.attribute(at: slot).name)
                ?? names.firstIndex { entity.slot(of: $0) == slot }
        }
        return places.count < slots.count ? nil : places
    }

    /// Returns the slots in which a stored object keeps its values: the slots that rows lack, and the slots whose
    /// values weren't sent with this row.
    func keptSlots(_ row: [StreamedValue]) -> Set<Int> {
        guard row.contains(.unchanged) else { return otherSlots }
        return otherSlots.union(
            places.indices.filter { slot in places[slot].map { $0 < row.count && row[$0] == .unchanged } ?? false })
    }

    /// The number of values that a row must have.
    var width: Int { columns.count }

    /// Throws unless a row has one value for each of the reader's columns.
    package func requireWidth(_ row: [StreamedValue]) throws {
        guard row.count == width else {
            throw StreamMessage.Malformed(
                "a row of \(title) has \(row.count) values instead of \(width)")
        }
    }

    /// Builds a record, with nulls for values that weren't sent, and with the default values, if any, of attributes
    /// that rows lack. Throws `UnstorableRow` for a value that can't be stored, and `SourceError` if it's in the key.
    private mutating func build(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) throws {
        builder.begin()
        for source in form.sources {
            switch source {
            case .null, .missing: builder.appendNull()
            case .value(let number): builder.append(form.defaultValues[number])
            case .column(let place, let type, _, _):
                if place >= row.count {
                    guard let wholeRow else { throw StreamMessage.Malformed("a row of \(title) has too few values") }
                    place == row.count ? builder.append(wholeRow.digest) : builder.appendInteger(Int64(wholeRow.count))
                    continue
                }
                guard case .text(let range) = row[place] else {
                    builder.appendNull()
                    continue
                }
                let text = UnsafeRawBufferPointer(rebasing: bytes[range])
                if let element = elements[place] {
                    guard let json = ArrayText.json(text, of: element) else {
                        throw unstorable(place, type, row, bytes, text)
                    }
                    builder.appendBytes(json.span.bytes)
                    continue
                }
                if ColumnValue.append(text, as: type, to: &builder) { continue }
                builder.append(try replacement(for: text, at: place, type, row, bytes))
            }
        }
    }

    /// The value to store instead of one that the type doesn't have. Throws like `build` if the table's rule has none.
    private func replacement(
        for text: UnsafeRawBufferPointer, at place: Int, _ type: ValueType, _ row: [StreamedValue],
        _ bytes: UnsafeRawBufferPointer
    ) throws -> Value {
        let name = columns[place]?.name ?? ""
        guard !keyColumnPlaces.contains(place),
            let value = rule.replacement(for: String(decoding: text, as: UTF8.self), type)
        else { throw unstorable(place, type, row, bytes, text) }
        replaced.note(
            "\(title).\(name)",
            "\(title).\(name) of the row with the key \(keyText(row, bytes)) \(ColumnValue.reason(text, type)): it is stored as "
                + "\(value.isNull ? "null" : value.description), and others like it are not named")
        return value
    }

    package mutating func append(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, to batch: inout RowBatch)
        throws
    {
        try build(row, bytes)
        batch.append(&builder)
    }

    package mutating func record(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) throws -> [UInt8] {
        try build(row, bytes)
        return builder.finish()
    }

    /// Returns a row for the store. Throws like `build`.
    mutating func row(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) throws -> KeyedRow {
        let key = try key(row, bytes)
        return KeyedRow(
            key: key, record: try record(row, bytes), keeping: keptSlots(row), isPartial: row.contains(.unchanged))
    }
}
