internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexRecords

/// Places the objects of an entity in an order: computes their row keys. The result must not depend on the clock or the
/// current locale. `FetchIndex` implements it with compiled predicates and sort keys, which this module can't import;
/// tests implement it with their own rules.
package protocol RowPlacer: AnyObject {
    /// Writes the section value, the sort key and the summary of an object's row into `placement`, without the numbers
    /// that `finish` appends. Returns false if the object isn't a member. Reads records that key paths lead to in
    /// `state`; if `state` is nil, the order must not have key paths.
    func place(
        _ object: RecordKey, _ record: RawSpan, in state: (any RecordState)?, _ placement: inout RowPlacement
    ) throws -> Bool
    /// A copy of the placer for another thread.
    func copy() throws -> any RowPlacer

    // If the order has no key paths, many records are placed in these three steps.

    /// Deselects those records of a block whose row keys are greater than a bound. It may leave some of them selected,
    /// and doesn't test whether records are members. Called before or after `keepMembers`. Does nothing if the bound is
    /// empty.
    func keepRecords(of block: inout RecordBlock, within bound: [UInt8]) throws
    /// Deselects records of a block that aren't members.
    func keepMembers(of block: inout RecordBlock) throws
    /// Writes into `placement` like `place`, for a record that is known to be a member's.
    func placeMember(_ record: RawSpan, _ placement: inout RowPlacement) throws

    // These properties let a scan skip records.

    /// Tests of one text attribute each. Every member of the order passes all of them, so a scan may skip other
    /// objects.
    var columnTests: [ColumnTest] { get }
    /// Whether `mayHaveRecords` may return false for some bounds.
    var hasBounds: Bool { get }
    /// Whether a record with values within these bounds may have a row key of at most `bound`.
    func mayHaveRecords(within bound: [UInt8], _ values: RecordBounds) -> Bool
    /// Whether records with values within these bounds may have lesser row keys than records with values within
    /// `others`.
    func mayPrecede(_ values: RecordBounds, _ others: RecordBounds) -> Bool
}

extension RowPlacer {
    package var columnTests: [ColumnTest] { [] }
    package var hasBounds: Bool { false }
    package func mayHaveRecords(within bound: [UInt8], _ values: RecordBounds) -> Bool { true }
    package func mayPrecede(_ values: RecordBounds, _ others: RecordBounds) -> Bool { false }
}

/// The placement of a row: its key in the rows tree, while it's being made.
///
///     section value as ascending OrderKey (none without sections) | sort key | object number 6 BE
///
/// In an order of several entities, the number of the object's entity, 2 BE, precedes the object number.
///
/// The keys of a section's rows begin with the bytes of its value, which aren't a prefix of another section's value. So
/// the rows of a section are contiguous. They are ordered by sort key, and equal sort keys by entity and object number.
package struct RowPlacement {
    /// Whether keys contain the entities of their objects.
    let namesEntity: Bool
    /// The section's value and the sort key, to which the placer appends.
    package var key: [UInt8] = []
    /// The length in bytes of the section's value at the beginning of the key. The placer sets it.
    package var sectionLength = 0
    /// The fingerprint and the values of the columns that the order aggregates, to which the placer appends.
    package var summary: [UInt8] = []
    /// Rows whose keys are greater than this bound aren't wanted, and a placer needn't finish their keys. If the bound
    /// is empty, all rows are wanted.
    var bound: [UInt8] = []
    private(set) var isBeyondBound = false
    /// Memory for the value of a column as `OrderKey`, or for the values of a fingerprint.
    private var value: [UInt8] = []

    package init(namesEntity: Bool = false) { self.namesEntity = namesEntity }

    package mutating func begin() {
        if !key.isEmpty { key.removeAll(keepingCapacity: true) }
        if !summary.isEmpty { summary.removeAll(keepingCapacity: true) }
        sectionLength = 0
        isBeyondBound = false
    }

    /// Returns whether the key is greater than the bound, whatever is appended to it. For placers, which may call this
    /// after each value of the sort key.
    package mutating func checkBound() -> Bool {
        if bound.isEmpty { return false }
        isBeyondBound = isKeyBeyondBound
        return isBeyondBound
    }

    private var isKeyBeyondBound: Bool {
        let (key, bound) = (key.span.bytes, bound.span.bytes)
        return key.compare(bound.extracting(first: min(key.byteCount, bound.byteCount))) > 0
    }

    /// Appends the value of a column to the summary. `appendKey` appends the value as an ascending `OrderKey` to its
    /// argument.
    package mutating func appendAggregated(
        _ form: SummaryForm, _ appendKey: (inout [UInt8]) throws -> Void
    ) rethrows {
        value.removeAll(keepingCapacity: true)
        try appendKey(&value)
        // The summary is moved out of the struct, so that it and `value` can be accessed at the same time.
        var summary: [UInt8] = []
        swap(&summary, &self.summary)
        SummaryColumn.append(value.span.bytes, form, to: &summary)
        swap(&summary, &self.summary)
    }

    /// Appends the fingerprint of the row to the summary, which is empty. `appendTexts` appends the texts of the row's
    /// values to its argument.
    package mutating func appendFingerprint(_ appendTexts: (inout [UInt8]) throws -> Void) rethrows {
        value.removeAll(keepingCapacity: true)
        try appendTexts(&value)
        Fingerprint(of: value.span.bytes).append(to: &summary)
    }

    /// Finishes the key, and turns it into an entry for a sorter.
    mutating func finishEntry(_ object: RecordKey, in shape: OrderShape) {
        finish(object)
        if !shape.aggregates.isEmpty { SortedEntry.append(summary: summary, to: &key) }
    }

    /// Finishes the key by appending the object's number; in an order of several entities, the entity's number first.
    mutating func finish(_ object: RecordKey) {
        withUnsafeBytes(of: object.rawValue.bigEndian) { bytes in
            key.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[(namesEntity ? 0 : 2)...]))
        }
    }
}

/// A finished row key.
struct RowKey: Hashable, Comparable, Sendable {
    let bytes: [UInt8]
    /// The length in bytes of the section's value at the beginning of the key.
    let sectionLength: Int
    /// The summary of the row's values, which isn't part of the key. Empty in an order without aggregates.
    var summary: [UInt8] = []

    /// The section's value.
    var section: [UInt8] { Array(bytes[..<sectionLength]) }

    /// Whether the rows of both keys are in the same section.
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

    /// The length in bytes of the object's number at the end of a key, with the entity's number if `entity` is nil.
    static func numberLength(entity: Int?) -> Int { entity == nil ? 8 : 6 }

    /// The object whose number ends a key; nil if the key is too short. `entity` is nil if keys contain entities.
    static func object(in key: RawSpan, entity: Int?) -> RecordKey? {
        let length = numberLength(entity: entity)
        guard key.byteCount >= length else { return nil }
        var number: UInt64 = 0
        for offset in key.byteCount - length..<key.byteCount {
            number = number << 8 | UInt64(key.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
        return entity.map { RecordKey(entity: $0, number: number) } ?? RecordKey(rawValue: number)
    }
}

extension RowPlacer {
    /// Computes the row key of an object; nil if the object has no record or isn't a member. `row` is the object's key
    /// in the order, if that differs from its key in the state.
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
