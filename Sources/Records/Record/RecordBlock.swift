internal import FetchIndexLMDB
package import FetchIndexModels

/// Records of one entity, in place, in the order of their numbers, and which of them are selected. A scan hands them out together, so
/// that a step of it is done for many records in one loop.
///
/// The loops are in this module, so that a record is found and read without calls to another one.
package struct RecordBlock: ~Copyable {
    private var entries = EntryBlock()
    private let keys: UnsafePointer<UInt64>
    private let records: UnsafePointer<UnsafeRawBufferPointer>
    /// The values of slots that a record lacks; empty: these are null.
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

    /// Appends the records at a cursor up to a key, as many as there is room for, and selects all. Returns an error that came after the
    /// records that were read.
    mutating func read(from cursor: inout Cursor, through last: UInt64) -> (any Error)? {
        var failure: (any Error)?
        do { try cursor.read(into: &entries, through: last) } catch { failure = error }
        selectAll()
        return failure
    }

    /// Appends the record of an object behind those that it has. False when the object has none.
    mutating func read(_ object: RecordKey, from cursor: inout Cursor) throws -> Bool {
        guard try cursor.read(object.rawValue, into: &entries) else { return false }
        selected[selectedCount] = UInt8(truncatingIfNeeded: count - 1)
        selectedCount += 1
        return true
    }

    var isFull: Bool { entries.isFull }

    /// At first there is room for one record, then for more: a scan that ends at its first record does not read many.
    mutating func removeAll() {
        entries.removeAll()
        entries.most = min(4 * entries.most, EntryBlock.capacity)
        selectedCount = 0
    }

    /// How many records it has, selected or not.
    package var count: Int { entries.count }

    package mutating func selectAll() {
        let count = count
        for place in 0..<count { selected[place] = UInt8(truncatingIfNeeded: place) }
        selectedCount = count
    }

    /// Selects the record at a place alone.
    mutating func select(only place: Int) {
        selected[0] = UInt8(truncatingIfNeeded: place)
        selectedCount = 1
    }

    /// Calls the body with all records, selected or not.
    package func forEachOfAll(_ body: (RecordKey, RawSpan) throws -> Void) rethrows {
        for place in 0..<count { try body(RecordKey(rawValue: keys[place]), records[place].bytes) }
    }

    /// Checks all records. At an error, the block ends before the record that it is of, and the error is returned.
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

    /// Calls the body with the objects of the selected records until it returns false. False when it did.
    func forEachWhile(_ body: (RecordKey) throws -> Bool) rethrows -> Bool {
        for index in 0..<selectedCount where try !body(RecordKey(rawValue: keys[Int(selected[index])])) { return false }
        return true
    }

    // MARK: Selecting

    /// Keeps those of the selected records that fulfil a condition.
    package mutating func keep(_ holds: (RecordKey, RawSpan) throws -> Bool) rethrows {
        selectedCount = try places { place in try holds(RecordKey(rawValue: keys[place]), records[place].bytes) }
    }

    /// The same for whole records, with the default values of attributes that were added later.
    package mutating func keep(_ holds: (borrowing RecordView) throws -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in try holds(RecordView(records[place].bytes, missing: missing.span.bytes)) }
    }

    /// Keeps those of the selected records whose value in a slot fulfils a condition, or is null if nulls are kept.
    package mutating func keep(slot: Int, nulls: Bool = false, _ holds: (RawSpan) throws -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            let record = try RecordView(records[place].bytes, missing: missing.span.bytes)
            guard let range = try record.range(of: slot) else { return nulls }
            return try holds(record.bytes(range))
        }
    }

    /// The same for the integer of a slot that holds integers; nil when it is null.
    package mutating func keep(slot: Int, integer holds: (Int64?) -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            try holds(RecordView(records[place].bytes, missing: missing.span.bytes).integer(at: slot))
        }
    }

    /// The same for the double of a slot that holds doubles or dates; nil when it is null.
    package mutating func keep(slot: Int, double holds: (Double?) -> Bool) throws {
        let missing = missing
        selectedCount = try places { place in
            try holds(RecordView(records[place].bytes, missing: missing.span.bytes).double(at: slot))
        }
    }

    /// Leaves among the places those that fulfil a condition, and returns how many these are.
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
