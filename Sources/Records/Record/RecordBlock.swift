internal import FetchIndexLMDB
package import FetchIndexModels

/// Records of one entity, read together in the order of their numbers. Each is selected or not. A scan passes whole
/// blocks to its caller, so that each test runs over many records in one loop.
///
/// The loops are in this module, beside `RecordView`, so that the compiler can inline reading a record.
package struct RecordBlock: ~Copyable {
    private var entries = EntryBlock()
    private let keys: UnsafePointer<UInt64>
    private let records: UnsafePointer<UnsafeRawBufferPointer>
    /// A record with the values of slots that a record in the block lacks. If it's empty, these values are null.
    private let missing: [UInt8]
    /// The indexes of the selected records, in ascending order.
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

    /// Appends records, beginning at the cursor, up to the key `last` or until the block is full. Selects all records
    /// of the block. If reading fails, returns the error; the block has the records before the failure.
    mutating func read(from cursor: inout Cursor, through last: UInt64) -> (any Error)? {
        var failure: (any Error)?
        do { try cursor.read(into: &entries, through: last) } catch { failure = error }
        selectAll()
        return failure
    }

    /// Appends the record of an object, and selects it. Returns false if the object has no record.
    mutating func read(_ object: RecordKey, from cursor: inout Cursor) throws -> Bool {
        guard try cursor.read(object.rawValue, into: &entries) else { return false }
        selected[selectedCount] = UInt8(truncatingIfNeeded: count - 1)
        selectedCount += 1
        return true
    }

    var isFull: Bool { entries.isFull }

    /// Removes all records. The block holds one record at first; each call makes it four times larger, up to its
    /// capacity. So a scan that ends with its first record doesn't read many.
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

    /// Selects the record at an index, and no other.
    mutating func select(only place: Int) {
        selected[0] = UInt8(truncatingIfNeeded: place)
        selectedCount = 1
    }

    /// Calls the body with all records, selected or not.
    package func forEachOfAll(_ body: (RecordKey, RawSpan) throws -> Void) rethrows {
        for place in 0..<count { try body(RecordKey(rawValue: keys[place]), records[place].bytes) }
    }

    /// Checks all records. If `check` throws, removes that record and the records after it, selects the remaining ones,
    /// and returns the error.
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

    /// Calls the body with the object keys of the selected records, until it returns false. Returns false if the body
    /// did.
    func forEachWhile(_ body: (RecordKey) throws -> Bool) rethrows -> Bool {
        for index in 0..<selectedCount where try !body(RecordKey(rawValue: keys[Int(selected[index])])) { return false }
        return true
    }

    // MARK: Selecting

    /// Deselects the selected records for which `holds` returns false.
    package mutating func keep(_ holds: (RecordKey, RawSpan) throws -> Bool) rethrows {
        selectedCount = try places { place in try holds(RecordKey(rawValue: keys[place]), records[place].bytes) }
    }

    /// Deselects the selected records for which `holds` returns false. The views have the default values of attributes
    /// that were added after a record was written.
    package mutating func keep(_ holds: (borrowing RecordView) throws -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in try holds(RecordView(records[place].bytes, missing: missing.span.bytes)) }
    }

    /// Deselects each selected record if `holds` returns false for its value in a slot. Records with null stay selected
    /// only if `nulls` is true.
    package mutating func keep(slot: Int, nulls: Bool = false, _ holds: (RawSpan) throws -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            let record = try RecordView(records[place].bytes, missing: missing.span.bytes)
            guard let range = try record.range(of: slot) else { return nulls }
            return try holds(record.bytes(range))
        }
    }

    /// Deselects each selected record if `holds` returns false for its integer in a slot. The argument is nil for null.
    package mutating func keep(slot: Int, integer holds: (Int64?) -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            try holds(RecordView(records[place].bytes, missing: missing.span.bytes).integer(at: slot))
        }
    }

    /// Deselects each selected record if `holds` returns false for its double or date in a slot. The argument is nil
    /// for null.
    package mutating func keep(slot: Int, double holds: (Double?) -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            try holds(RecordView(records[place].bytes, missing: missing.span.bytes).double(at: slot))
        }
    }

    /// Moves the selected indexes for which `holds` returns true to the front of `selected`, and returns their number.
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
