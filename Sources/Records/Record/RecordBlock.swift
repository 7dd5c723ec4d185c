internal import FetchIndexLMDB
package import FetchIndexModels

/// Records of one entity, in place and in the order of their numbers, some of which are selected. A scan hands out
/// blocks, so that each step runs for many records in one loop.
///
/// The loops are in this module, so that finding and reading a record needs no calls to another module.
package struct RecordBlock: ~Copyable {
    private var entries = EntryBlock()
    private let keys: UnsafePointer<UInt64>
    private let records: UnsafePointer<UnsafeRawBufferPointer>
    /// A record with the values of slots that a record lacks; if it is empty, these are null.
    private let missing: [UInt8]
    /// The places of the selected records, in ascending order.
    private let selected: UnsafeMutablePointer<UInt8>
    package private(set) var selectedCount = 0

    init(missing: [UInt8]) {
        self.missing = missing
        entries.most = 1
        keys = entries.keys
        records = entries.values
        selected = .allocate(capacity: EntryBlock.capacity)
    }

    deinit { selected.deallocate() }

    /// Appends the records from a cursor through a key until the block is full, and selects all. Returns the error that
    /// ended reading, if any; the block has the records before it.
    mutating func read(from cursor: inout Cursor, through last: UInt64) -> (any Error)? {
        var failure: (any Error)?
        do { try cursor.read(into: &entries, through: last) } catch { failure = error }
        selectAll()
        return failure
    }

    /// Appends the record of an object and selects it. Returns false if the object has no record.
    mutating func read(_ object: RecordKey, from cursor: inout Cursor) throws -> Bool {
        guard try cursor.read(object.rawValue, into: &entries) else { return false }
        selected[selectedCount] = UInt8(truncatingIfNeeded: count - 1)
        selectedCount += 1
        return true
    }

    var isFull: Bool { entries.isFull }

    /// Removes all records. The block holds one record at first, and four times as many after each call up to its
    /// capacity, so that a scan that ends at its first record doesn't read many.
    mutating func removeAll() {
        entries.removeAll()
        entries.most = min(4 * entries.most, EntryBlock.capacity)
        selectedCount = 0
    }

    /// The number of records, selected or not.
    package var count: Int { entries.count }

    package mutating func selectAll() {
        let count = count
        for place in 0..<count { selected[place] = UInt8(truncatingIfNeeded: place) }
        selectedCount = count
    }

    /// Selects only the record at a place.
    mutating func select(only place: Int) {
        selected[0] = UInt8(truncatingIfNeeded: place)
        selectedCount = 1
    }

    /// Calls the body with all records, selected or not.
    package func forEachOfAll(_ body: (RecordKey, RawSpan) throws -> Void) rethrows {
        for place in 0..<count { try body(RecordKey(rawValue: keys[place]), records[place].bytes) }
    }

    /// Checks all records. If a check throws, removes the record and those after it, selects the rest, and returns the
    /// error.
    mutating func checkAll(_ check: (RecordKey, RawSpan) throws -> Void) -> (any Error)? {
        var checked = 0
        do {
            while checked < count {
                try check(RecordKey(rawValue: keys[checked]), records[checked].bytes)
                checked += 1
            }
            return nil
        } catch {
            entries.keep(first: checked)
            selectAll()
            return error
        }
    }

    /// Calls the body with the selected records.
    package func forEach(_ body: (RecordKey, RawSpan) throws -> Void) rethrows {
        for index in 0..<selectedCount {
            let place = Int(selected[index])
            try body(RecordKey(rawValue: keys[place]), records[place].bytes)
        }
    }

    /// Calls the body with the objects of the selected records until it returns false. Returns false if it did.
    func forEachWhile(_ body: (RecordKey) throws -> Bool) rethrows -> Bool {
        for index in 0..<selectedCount where try !body(RecordKey(rawValue: keys[Int(selected[index])])) { return false }
        return true
    }

    // MARK: Selecting

    /// Keeps the selected records that fulfil a condition.
    package mutating func keep(_ holds: (RecordKey, RawSpan) throws -> Bool) rethrows {
        selectedCount = try places { place in try holds(RecordKey(rawValue: keys[place]), records[place].bytes) }
    }

    /// Keeps the selected records that fulfil a condition. Their views have default values for attributes added later.
    package mutating func keep(_ holds: (borrowing RecordView) throws -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in try holds(RecordView(records[place].bytes, missing: missing.span.bytes)) }
    }

    /// Keeps the selected records whose value in a slot fulfils a condition, or is null if `nulls` are kept.
    package mutating func keep(slot: Int, nulls: Bool = false, _ holds: (RawSpan) throws -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            let record = try RecordView(records[place].bytes, missing: missing.span.bytes)
            guard let range = try record.range(of: slot) else { return nulls }
            return try holds(record.bytes(range))
        }
    }

    /// Keeps the selected records whose integer in a slot fulfils a condition, which gets nil for null.
    package mutating func keep(slot: Int, integer holds: (Int64?) -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            try holds(RecordView(records[place].bytes, missing: missing.span.bytes).integer(at: slot))
        }
    }

    /// Keeps the selected records whose double or date in a slot fulfils a condition, which gets nil for null.
    package mutating func keep(slot: Int, double holds: (Double?) -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            try holds(RecordView(records[place].bytes, missing: missing.span.bytes).double(at: slot))
        }
    }

    /// Keeps the selected places that fulfil a condition, and returns their number.
    @inline(__always)
    private func places(where holds: (Int) throws -> Bool) rethrows -> Int {
        var kept = 0
        for index in 0..<selectedCount {
            let place = selected[index]
            selected[kept] = place
            if try holds(Int(place)) { kept += 1 }
        }
        return kept
    }
}
