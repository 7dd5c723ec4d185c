internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// Makes the headings of sections that are each of an object: the section's value is the object's key, and what the section shows of
/// the object stands once in its heading. So a rename of the object changes one section, and no row.
///
///     heading    the name as ascending OrderKey | the sort keys that are the object's, as they would stand in its rows' keys
package struct SectionHeadings {
    /// The entities whose objects sections are of.
    package let entities: Set<Int>
    private let make: (_ object: RecordKey, _ record: RawSpan?) throws -> [UInt8]

    /// `make` gives the heading of an object's section from its record, or that of the section of no object without one. O(length of
    /// the values).
    package init(of entities: Set<Int>, make: @escaping (_ object: RecordKey, _ record: RawSpan?) throws -> [UInt8]) {
        (self.entities, self.make) = (entities, make)
    }
}

/// Changes of rows, and of what sections show of their objects.
struct OrderEdits {
    var rows: [RowChange]
    /// By section value, the headings of sections that changed, or that rows come to.
    var headings: [[UInt8]: [UInt8]] = [:]
    /// The section values of new objects by those that they have since they were saved. Where sections are equal in all else, their
    /// values tell which comes first.
    var temporaryValues: [[UInt8]: [UInt8]] = [:]

    init(_ rows: [RowChange]) { self.rows = rows }

    var isEmpty: Bool { rows.isEmpty && headings.isEmpty && temporaryValues.isEmpty }

    /// Whether nothing stands elsewhere, or is shown otherwise.
    var changesNothing: Bool { headings.isEmpty && !rows.contains(where: \.changesOrder) }

    /// The value of an object's section.
    static func section(of object: RecordKey) -> [UInt8] {
        var value: [UInt8] = []
        OrderKey.appendInteger(Int64(bitPattern: object.rawValue), to: &value)
        return value
    }

    /// A row's key as it stood in the order where its section's object was new.
    func inOldSection(_ key: RowKey) -> RowKey {
        guard let old = temporaryValues[key.section] else { return key }
        return RowKey(
            bytes: old + key.bytes[key.sectionLength...], sectionLength: old.count, summary: key.summary)
    }

    /// Without rows whose keys and sums are the same.
    var moved: OrderEdits {
        var moved = self
        moved.rows = rows.filter(\.changesOrder)
        return moved
    }
}

extension SectionHeadings {
    /// The heading of a section, by its value, in a state of the records.
    func heading(of section: [UInt8], in state: any RecordState) throws -> [UInt8] {
        guard let object = OrderSection.object(ofValue: section) else {
            return try make(RecordKey(rawValue: 0), nil)
        }
        var found: [UInt8]?
        _ = try state.record(object) { found = try make(object, $0) }
        return try found ?? make(object, nil)
    }

    /// Adds to the changes of rows those of headings. O(changes), and a record for each section that rows come to.
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
    /// The object that the section is of, in an order whose sections are of objects.
    package var object: RecordKey? { heading == nil ? nil : Self.object(ofValue: value) }

    fileprivate static func object(ofValue value: [UInt8]) -> RecordKey? {
        guard case .integer(let number)? = OrderKey.first(in: value.span.bytes)?.value else { return nil }
        return RecordKey(rawValue: UInt64(bitPattern: number))
    }
}
