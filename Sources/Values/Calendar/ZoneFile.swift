internal import FetchIndexPlatform

/// The offsets of a time zone, read from a compiled file: TZif, RFC 8536 (and 9636).
///
///     TZif, version | counts | changes, their types, types, …   with 4 bytes per change
///     TZif, version | counts | the same with 8 bytes            since version 2
///     \n rule \n                                                for the time after the last change
struct ZoneFile: Sendable {
    struct Damage: Error {
        let reason: String
    }

    /// The moments when the clocks change, in seconds since 1970, in order.
    private let changes: [Int64]
    /// Offsets in seconds ahead of UTC: the offset before the first change, then the offset after each change.
    private let offsets: [Int32]
    /// The rule for the time after the last change; nil if the last offset stays.
    private let rule: ZoneRule?
    /// A checksum of the file, because files with the same data version may differ.
    let checksum: UInt32

    init(_ bytes: [UInt8]) throws(Damage) {
        checksum = bytes.withUnsafeBytes { $0.bytes.checksum }
        var reader = Reader(rest: bytes[...])
        var header = try Header(&reader)
        var footer: ArraySlice<UInt8> = []
        if header.version == 0 {
            (changes, offsets) = try header.body(&reader, bytesOfChange: 4)
        } else {
            _ = try reader.bytes(header.length(bytesOfChange: 4))
            header = try Header(&reader)
            (changes, offsets) = try header.body(&reader, bytesOfChange: 8)
            footer = try reader.line()
        }
        guard !footer.isEmpty else {
            rule = nil
            return
        }
        guard let rule = ZoneRule(footer) else { throw Damage(reason: "its rule for later years is malformed") }
        self.rule = rule
    }

    /// The period between two changes of the clocks around a moment in seconds since 1970. O(log n).
    func period(around seconds: Double) -> OffsetPeriod {
        let place = (0..<changes.count).firstNumber(fromWhich: { Double(changes[$0]) > seconds })
        let start = place == 0 ? -Double.infinity : Double(changes[place - 1])
        if place == changes.count, let rule {
            var period = rule.period(around: seconds)
            period.start = max(period.start, start)
            return period
        }
        return OffsetPeriod(
            start: start, end: place == changes.count ? .infinity : Double(changes[place]),
            offset: Double(offsets[place]))
    }

    /// The version and the counts before the changes.
    private struct Header {
        let version: UInt8
        private let utIndicators, standardIndicators, leapSeconds, changes, types, characters: Int

        init(_ reader: inout Reader) throws(Damage) {
            guard try reader.bytes(4).elementsEqual("TZif".utf8) else { throw Damage(reason: "it is not a time zone") }
            version = try reader.bytes(16).first ?? 0
            utIndicators = try reader.count()
            standardIndicators = try reader.count()
            leapSeconds = try reader.count()
            changes = try reader.count()
            types = try reader.count()
            characters = try reader.count()
        }

        /// The length in bytes of the data that follow the header. The counts have 32 bits, so the sum can't overflow.
        func length(bytesOfChange width: Int) -> Int {
            changes * (width + 1) + types * 6 + characters + leapSeconds * (width + 4) + standardIndicators
                + utIndicators
        }

        func body(_ reader: inout Reader, bytesOfChange width: Int) throws(Damage) -> ([Int64], [Int32]) {
            var body = Reader(rest: try reader.bytes(length(bytesOfChange: width)))
            guard leapSeconds == 0 else {
                throw Damage(reason: "it counts leap seconds, which FetchIndex does not support")
            }
            guard types > 0 else { throw Damage(reason: "it has no offset") }
            var moments: [Int64] = []
            moments.reserveCapacity(changes)
            for _ in 0..<changes {
                let moment = try body.number(width)
                guard moments.last.map({ $0 < moment }) ?? true else {
                    throw Damage(reason: "its changes are not in order")
                }
                moments.append(moment)
            }
            let chosen = try body.bytes(changes)
            var known: [Int32] = []
            for _ in 0..<types {
                let offset = try body.number(4)
                guard ZoneRule.offsets.contains(Int(offset)) else {
                    throw Damage(reason: "it has an offset of 26 hours or more")
                }
                known.append(Int32(offset))
                _ = try body.bytes(2)  // whether it is summer time, and its name
            }
            guard chosen.allSatisfy({ $0 < known.count }) else { throw Damage(reason: "a change has no offset") }
            return (moments, [known[0]] + chosen.map { known[Int($0)] })
        }
    }

    /// Reads big-endian numbers.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func bytes(_ count: Int) throws(Damage) -> ArraySlice<UInt8> {
            guard count <= rest.count else { throw Damage(reason: "it ends too soon") }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        /// Reads a signed number of 4 or 8 bytes.
        mutating func number(_ width: Int) throws(Damage) -> Int64 {
            let bytes = try bytes(width)
            let isNegative = (bytes.first ?? 0) >= 0x80
            return Int64(truncatingIfNeeded: bytes.reduce(isNegative ? ~0 : 0 as UInt64) { $0 << 8 | UInt64($1) })
        }

        mutating func count() throws(Damage) -> Int { Int(UInt32(truncatingIfNeeded: try number(4))) }

        /// Reads the bytes between two line feeds.
        mutating func line() throws(Damage) -> ArraySlice<UInt8> {
            let end = UInt8(ascii: "\n")
            guard try bytes(1).first == end, let length = rest.firstIndex(of: end).map({ $0 - rest.startIndex })
            else { throw Damage(reason: "its rule for later years is missing") }
            return try bytes(length)
        }
    }
}
