internal import FetchIndexPlatform
internal import FetchIndexModels

/// The records that an entity's objects had at a commit, as far as later commits changed or deleted them. The records
/// stay in the log; only their places are in memory: about 8 bytes for each
/// record if their numbers are dense, otherwise up to some 200.
///
/// If an object existed at a commit and changed later, its oldest record in the log after the commit is its record at
/// the commit.
package struct PastRecords {
    private let reader: StoreReader
    /// The parts of the log that have a record, in the order in which they were read.
    private var parts: [LogKey] = []
    /// The places of the records, by object number: the position of the part, plus 1, and the offset in the part, or
    /// `absent` for an object that didn't exist.
    private var places = SparseArray()
    /// The least number of an object that was inserted after the commit. Objects with greater numbers were inserted
    /// after it, too.
    private(set) var firstInserted = UInt64.max
    private static let absent: UInt64 = 0xFFFF_FFFF
    /// The objects with lesser numbers that didn't exist at the commit, in any order: their numbers were given to them.
    private var returned: [UInt64] = []

    /// Reads the log's entries of an entity after a commit, through a later one. O(k) for k entries of these commits.
    package init(of entity: Int, after first: UInt64, through last: UInt64, in reader: StoreReader) throws {
        self.reader = reader
        try reader.forEachLogEntry(of: entity, after: first, through: last) { entry, _ in
            switch entry.kind {
            case .inserted: firstInserted = min(firstInserted, entry.object.number)
            // A commit's inserted ranges are its last entries, so `firstInserted` comes from earlier commits here.
            case .updated, .deleted, .returned: if entry.object.number < firstInserted { note(entry) }
            }
        }
    }

    private mutating func note(_ entry: LogEntry) {
        if places[entry.object.number] != 0 { return }
        if parts.last != entry.place.key { parts.append(entry.place.key) }
        let isAbsent = entry.kind == .returned
        if isAbsent { returned.append(entry.object.number) }
        places[entry.object.number] = UInt64(parts.count) << 32 | (isAbsent ? Self.absent : UInt64(entry.place.offset))
    }

    /// Nil if the object with this place didn't exist.
    private func place(_ number: UInt64) -> LogPlace? {
        if number & Self.absent == Self.absent { return nil }
        return LogPlace(key: parts[Int(number >> 32) - 1], offset: Int(number & 0xFFFF_FFFF))
    }

    /// Calls the body with the records, by ascending object number. Several threads can each read a part of them, with a
    /// reader of their own. O(k log n) for k records.
    package func forEach(
        in reader: StoreReader? = nil, part: Int = 0, of parts: Int = 1,
        _ body: (_ number: UInt64, RawSpan) throws -> Void
    ) throws {
        let reader = reader ?? self.reader
        try places.forEach(part: part, of: parts) { number, place in
            if let place = self.place(place) { try reader.oldRecord(at: place) { try body(number, $0) } }
        }
    }

    /// The objects with numbers below `firstInserted` that didn't exist at the commit, in ascending order.
    var numbersOfReturned: [UInt64] { returned.sorted() }

    /// Whether an object was inserted after the commit.
    package func isInserted(_ number: UInt64) -> Bool {
        number >= firstInserted || !returned.isEmpty && places[number] != 0 && place(places[number]) == nil
    }

    /// Whether an object's record at the commit isn't its current one: later commits have changed it, or inserted it.
    package func isChanged(_ number: UInt64) -> Bool { number >= firstInserted || places[number] != 0 }

    /// Calls the body with the record that an object had at the commit. Returns false if later commits haven't changed
    /// the object, or inserted it. O(log n).
    package func withRecord(of number: UInt64, _ body: (RawSpan) throws -> Void) throws -> Bool {
        guard places[number] != 0, let place = place(places[number]) else { return false }
        try reader.oldRecord(at: place, body)
        return true
    }

    /// The numbers in a range whose records are here, in ascending order. O(k log k) for all k records.
    func numbers(in range: Range<UInt64>) -> [UInt64] {
        var numbers: [UInt64] = []
        places.forEach { number, place in
            if range.contains(number), self.place(place) != nil { numbers.append(number) }
        }
        return numbers
    }

    /// A copy of the record that an object had at the commit; nil if the object didn't exist. If the log has no record
    /// of it, its current record, unless it was inserted after the commit. O(log n).
    func copy(of object: RecordKey) throws -> [UInt8]? {
        if isInserted(object.number) { return nil }
        var record: [UInt8]?
        let isLogged = try withRecord(of: object.number) { record = [UInt8](copying: $0) }
        return isLogged ? record : try reader.copy(of: object)
    }
}
