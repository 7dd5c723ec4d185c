internal import FetchIndexPlatform
internal import FetchIndexValues

/// The places of a zone for which its columns have valid codes. A place is an object number's index in the zone.
/// Writing a column takes as long as changing several objects, so it's written once for many changes; until then, the
/// changed places are listed here.
struct CodedPlaces: Equatable {
    /// The maximum number of changed places. If there are more, all codes become invalid.
    static let mostChanges = 512

    /// The slots that have columns.
    private(set) var slots: [Int] = []
    /// The places below this one have codes.
    private(set) var end = 0
    /// The places below `end` whose codes are no longer valid, in ascending order.
    private(set) var changed: [UInt16] = []

    init() {}

    init(_ slots: [Int], end: Int) { (self.slots, self.end) = (slots, end) }

    /// Makes all codes invalid if a slot that isn't in `live` has a column, for example the slot of a removed
    /// attribute.
    mutating func forgetOthers(than live: [Int]) { if !slots.allSatisfy(live.contains) { self = CodedPlaces() } }

    /// Notes that the object at a place changed. O(log changes) if it had changed before, otherwise O(changes).
    mutating func noteChange(at place: Int) {
        guard place < end, !slots.isEmpty else { return }
        let index = changed.indices.firstNumber { changed[$0] >= place }
        if index < changed.count, changed[index] == place { return }
        changed.insert(UInt16(truncatingIfNeeded: place), at: index)
        // No code is valid until the columns are rebuilt.
        if changed.count > Self.mostChanges { self = CodedPlaces() }
    }

    /// Whether the columns must be rebuilt, given that the object numbers below `next` are allocated. They must be if
    /// they would get at least `mostChanges` more codes and become at least twice as long, or if they would become
    /// complete. So the records of a zone that grows slowly are read about twice in all.
    func areDue(of zone: ZoneKey, _ next: UInt64) -> Bool {
        let rest = Int(Zone.length) - end
        return rest > 0 && zone.usedLength(next) - end >= min(rest, max(Self.mostChanges, end))
    }

    func isCoded(_ place: Int) -> Bool {
        guard place < end else { return false }
        let index = changed.indices.firstNumber { changed[$0] >= place }
        return index == changed.count || changed[index] != place
    }

    // MARK: Bytes

    /// Appends the places to a zone's bytes. Appends no bytes if `end` is 0, as in zones of version 11.
    func append(to bytes: inout [UInt8]) {
        if end == 0 { return }
        for numbers in [slots, changed.map(Int.init)] {
            bytes.appendVarint(UInt64(numbers.count))
            for number in numbers { bytes.appendVarint(UInt64(number)) }
        }
        bytes.appendVarint(UInt64(end))
    }

    init(_ reader: inout ByteReader) throws {
        if reader.isAtEnd { return }
        func numbers(_ reader: inout ByteReader) throws -> [UInt16] {
            let count = try reader.count()
            var numbers: [UInt16] = []
            numbers.reserveCapacity(count)
            for _ in 0..<count { numbers.append(UInt16(truncatingIfNeeded: try reader.varint())) }
            return numbers
        }
        slots = try numbers(&reader).map(Int.init)
        changed = try numbers(&reader)
        end = min(Int(clamping: try reader.varint()), Int(Zone.length))
    }
}
