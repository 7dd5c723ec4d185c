internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexRecords

/// Places the objects of an entity in an order. It is a pure function of the record and of the records that key paths
/// lead to: no clock, no current locale. `FetchIndex` places by a compiled definition, which this module must not see;
/// tests place by their own rules.
package protocol RowPlacer: AnyObject {
    /// Writes an object's key into `placement`. Returns false if the object isn't a member. Records that key paths lead
    /// to are read in the state; without a state, the order must not have such paths.
    func place(
        _ object: RecordKey, _ record: RawSpan, in state: (any RecordState)?, _ placement: inout RowPlacement
    ) throws -> Bool
    /// A copy of the placer, for another thread.
    func copy() throws -> any RowPlacer

    // Without key paths, many records are placed in three steps.

    /// Keeps, of the selected records of a block, at least those whose key isn't greater than a bound, whether they are
    /// members or not. Called before `keepMembers` or after it. An empty bound keeps all.
    func keepRecords(of block: inout RecordBlock, within bound: [UInt8]) throws
    /// Keeps only members among the selected records of a block.
    func keepMembers(of block: inout RecordBlock) throws
    /// Like `place`, for the record of a member.
    func placeMember(_ record: RawSpan, _ placement: inout RowPlacement) throws

    // What a scan may skip:

    /// Tests that all members pass, each of one text.
    var columnTests: [ColumnTest] { get }
    /// Whether `mayHaveRecords` can return false.
    var hasBounds: Bool { get }
    /// Whether a record whose values are within bounds may have a key that isn't greater than `bound`.
    func mayHaveRecords(within bound: [UInt8], _ values: RecordBounds) -> Bool
}

extension RowPlacer {
    package var columnTests: [ColumnTest] { [] }
    package var hasBounds: Bool { false }
    package func mayHaveRecords(within bound: [UInt8], _ values: RecordBounds) -> Bool { true }
}

/// The placement of a row: the key of the rows tree under construction.
///
///     section value as ascending OrderKey (none without sections) | sort key | object number 6 BE
///
/// In an order of several entities, the number of the object's entity, 2 BE, precedes the object number.
///
/// The rows of a section begin with its value's bytes, which are not a prefix of another section's, so they are
/// contiguous. Within the section they are ordered by sort key, and the object number makes the order total.
package struct RowPlacement {
    /// Whether keys name the entities of their objects.
    let namesEntity: Bool
    /// The section's value and the sort key; the placer appends to it.
    package var key: [UInt8] = []
    /// The length of the section's value in the key, in bytes. The placer sets it.
    package var sectionLength = 0
    /// The values of the aggregates' columns. The placer appends to it.
    package var summary: [UInt8] = []
    /// The key beyond which rows are dropped; empty keeps all. A placer may leave a key unfinished once it is greater.
    var bound: [UInt8] = []
    private(set) var isBeyondBound = false
    /// The value of a column as `OrderKey`.
    private var value: [UInt8] = []

    package init(namesEntity: Bool = false) { self.namesEntity = namesEntity }

    package mutating func begin() {
        if !key.isEmpty { key.removeAll(keepingCapacity: true) }
        if !summary.isEmpty { summary.removeAll(keepingCapacity: true) }
        sectionLength = 0
        isBeyondBound = false
    }

    /// Tests whether the key is greater than the bound, whatever is appended to it. The placer calls it after each
    /// value of the sort key.
    package mutating func checkBound() -> Bool {
        if bound.isEmpty { return false }
        isBeyondBound = isKeyBeyondBound
        return isBeyondBound
    }

    private var isKeyBeyondBound: Bool {
        let (key, bound) = (key.span.bytes, bound.span.bytes)
        return key.compare(bound.extracting(first: min(key.byteCount, bound.byteCount))) > 0
    }

    /// Adds a column's value, which the closure appends as an ascending `OrderKey`.
    package mutating func appendAggregated(
        _ form: SummaryForm, _ appendKey: (inout [UInt8]) throws -> Void
    ) rethrows {
        value.removeAll(keepingCapacity: true)
        try appendKey(&value)
        // Moved out of the struct, so that both can be accessed at once.
        var summary: [UInt8] = []
        swap(&summary, &self.summary)
        SummaryColumn.append(value.span.bytes, form, to: &summary)
        swap(&summary, &self.summary)
    }

    /// Finishes the key and makes it an entry of a sorter.
    mutating func finishEntry(_ object: RecordKey, in shape: OrderShape) {
        finish(object)
        if !shape.aggregates.isEmpty { SortedEntry.append(summary: summary, to: &key) }
    }

    /// Finishes the key with the object's number.
    mutating func finish(_ object: RecordKey) {
        withUnsafeBytes(of: object.rawValue.bigEndian) { bytes in
            key.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[(namesEntity ? 0 : 2)...]))
        }
    }
}

/// A finished row key.
struct RowKey: Hashable, Comparable, Sendable {
    let bytes: [UInt8]
    /// The length of the section's value at the beginning of the key, in bytes.
    let sectionLength: Int
    /// The summary of the row's values, which isn't part of the key; empty in an order without aggregates.
    var summary: [UInt8] = []

    /// The section's value.
    var section: [UInt8] { Array(bytes[..<sectionLength]) }

    /// Whether both rows are in the same section.
    func isInSection(of other: RowKey) -> Bool {
        guard sectionLength == other.sectionLength else { return false }
        let (bytes, others) = (bytes.span.bytes, other.bytes.span.bytes)
        return bytes.extracting(first: sectionLength).isEqual(to: others.extracting(first: sectionLength))
    }

    static func == (left: RowKey, right: RowKey) -> Bool {
        let (left, right) = (left.bytes, right.bytes)
        return left.span.bytes.isEqual(to: right.span.bytes)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    static func < (left: RowKey, right: RowKey) -> Bool {
        left.bytes.withUnsafeBytes { left in right.bytes.withUnsafeBytes { left.bytes.compare($0.bytes) < 0 } }
    }

    /// The object at the end of a key; `entity` is nil in an order of several entities. Nil if the key is too short.
    static func object(in key: RawSpan, entity: Int?) -> RecordKey? {
        let length = entity == nil ? 8 : 6
        guard key.byteCount >= length else { return nil }
        var number: UInt64 = 0
        for offset in key.byteCount - length..<key.byteCount {
            number = number << 8 | UInt64(key.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
        return entity.map { RecordKey(entity: $0, number: number) } ?? RecordKey(rawValue: number)
    }
}

extension RowPlacer {
    /// The row key of an object; nil if it isn't a member, or without a record. `row` is the object's key in the order,
    /// if it differs from that in the state.
    func key(
        of object: RecordKey, _ record: [UInt8]?, in state: (any RecordState)?, _ placement: inout RowPlacement,
        as row: RecordKey? = nil
    ) throws -> RowKey? {
        guard let record else { return nil }
        placement.begin()
        guard try place(object, record.span.bytes, in: state, &placement) else { return nil }
        placement.finish(row ?? object)
        return RowKey(bytes: placement.key, sectionLength: placement.sectionLength, summary: placement.summary)
    }
}
