package import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// Makes the headings of sections that are related objects. The section's value is the object's record key. The
/// attributes that the section shows are in its heading. So renaming the object changes at most one section, and no
/// row, unless rows depend on the name in another way.
///
///     heading    the name as ascending OrderKey | the object's sort keys, encoded like sort keys in row keys
package struct SectionHeadings {
    /// The entities whose objects are sections.
    package let entities: Set<Int>
    private let make: (_ object: RecordKey, _ record: RawSpan?) throws -> [UInt8]

    /// `make` returns the heading of an object's section, given the object's record. If the record is nil, it returns
    /// the heading of the section for rows without a related object. O(length of the values).
    package init(of entities: Set<Int>, make: @escaping (_ object: RecordKey, _ record: RawSpan?) throws -> [UInt8]) {
        (self.entities, self.make) = (entities, make)
    }
}

/// Changes of an order's rows, and of the headings of its sections.
struct OrderEdits {
    var rows: [RowChange]
    /// The headings that changed, and the headings of the sections to which rows are added, by section value.
    var headings: [[UInt8]: [UInt8]] = [:]
    /// For sections whose objects are newly saved: the section values that were made from the objects' temporary record
    /// keys, by the current section values. Such a section may move, because section values decide the order of
    /// sections that are otherwise equal.
    var temporaryValues: [[UInt8]: [UInt8]] = [:]

    init(_ rows: [RowChange]) { self.rows = rows }

    var isEmpty: Bool { rows.isEmpty && headings.isEmpty && temporaryValues.isEmpty }

    /// Whether no row's key or summary changes, and no heading.
    var changesNothing: Bool { headings.isEmpty && !rows.contains(where: \.changesOrder) }

    /// The section value of a related object.
    static func section(of object: RecordKey) -> [UInt8] {
        var value: [UInt8] = []
        OrderKey.appendInteger(Int64(bitPattern: object.rawValue), to: &value)
        return value
    }

    /// A row's key with the section value that it had before the section's object was saved; the same key if the object
    /// isn't newly saved.
    func inOldSection(_ key: RowKey) -> RowKey {
        guard let old = temporaryValues[key.section] else { return key }
        return RowKey(
            bytes: old + key.bytes[key.sectionLength...], sectionLength: old.count, summary: key.summary)
    }

    /// The edits without the rows whose keys and summaries don't change.
    var moved: OrderEdits {
        var moved = self
        moved.rows = rows.filter(\.changesOrder)
        return moved
    }
}

extension SectionHeadings {
    /// The heading of the section with this value, in a state of the records.
    func heading(of section: [UInt8], in state: any RecordState) throws -> [UInt8] {
        guard let object = OrderSection.object(ofValue: section) else {
            return try make(RecordKey(rawValue: 0), nil)
        }
        var found: [UInt8]?
        _ = try state.record(object) { found = try make(object, $0) }
        return try found ?? make(object, nil)
    }

    /// Adds the changed headings to the edits, and the headings of sections to which rows are added. O(changes + rows),
    /// and reads at most one record for each section to which rows are added.
    func addHeadings(to edits: inout OrderEdits, _ changes: [RecordChange], _ states: StateChange) throws {
        for change in changes where entities.contains(change.object.entity) {
            let value = OrderEdits.section(of: change.object)
            if change.object != change.oldObject {
                edits.temporaryValues[value] = OrderEdits.section(of: change.oldObject)
            }
            let new = try heading(of: change.object, change.new)
            if try heading(of: change.oldObject, change.old) != new { edits.headings[value] = new }
        }
        for row in edits.rows {
            guard let new = row.new, row.old.map({ !$0.isInSection(of: new) }) ?? true else { continue }
            let section = new.section
            if edits.headings[section] == nil { edits.headings[section] = try heading(of: section, in: states.new) }
        }
    }

    private func heading(of object: RecordKey, _ record: [UInt8]?) throws -> [UInt8] {
        guard let record else { return try make(object, nil) }
        return try make(object, record.span.bytes)
    }
}

extension OrderSection {
    /// The section's related object; nil for the section without one, and in an order whose sections aren't objects.
    package var object: RecordKey? { heading == nil ? nil : Self.object(ofValue: value) }

    fileprivate static func object(ofValue value: [UInt8]) -> RecordKey? {
        guard case .integer(let number)? = OrderKey.first(in: value.span.bytes)?.value else { return nil }
        return RecordKey(reference: number)
    }
}
