internal import FetchIndexPlatform
internal import FetchIndexModels

/// A recorded opening of a cache, other than a hit.
package struct RecordedOpening: Equatable, Sendable {
    package enum Kind: UInt8, Sendable { case caughtUp = 1, rebuilt = 2 }

    /// The time when the opening began, in seconds since 1970.
    package let time: Double
    package let milliseconds: Float
    package let kind: Kind
    /// The reason for a rebuild; nil if the cache was caught up, or if this version doesn't know the reason.
    package let reason: RebuildReason?
    /// Whether the order was stored in the cache. May also be false for an order that was stored while a newer commit
    /// existed.
    package let isStored: Bool
    /// The number of row events of a catch-up; after a rebuild, the number of all rows.
    package let rowCount: Int
    /// For a catch-up, the commit since which the order changed: the cache's commit before the opening, or an older one
    /// if the cache's exact reader hadn't received earlier changes. For a rebuild, it has no meaning.
    package let start: UInt64
    package let process: String
    package let author: String
}

/// The statistics of one cache: its hits and its recorded openings.
package struct OpeningHistory {
    let head: OpeningLayout.Head
    /// The most recent openings other than hits, oldest first.
    package private(set) var openings: [RecordedOpening] = []
    /// The number of hits by hour, in ascending order. Hours are counted since 1970; old ones and those without hits
    /// are left out.
    package private(set) var hitsByHour: [(hour: Int, hits: Int)] = []
    /// The number of damaged openings; 1 if the head is damaged.
    package private(set) var defects = 0

    /// Decodes all bytes of a cache's statistics. Empty bytes give an empty history.
    init(_ bytes: [UInt8], of name: String) {
        head = OpeningLayout.Head(bytes.span.bytes, of: name)
        guard bytes.count == OpeningLayout.length, !head.isOfAnother else { return }
        let layout = OpeningLayout(of: 0)
        if head.isDamaged {
            // Openings have their own checksums, so they are decoded even if the head is damaged.
            defects += 1
            let all = (0..<UInt64(OpeningLayout.keptOpenings)).map { bytes[layout.place(ofOpening: $0)] }
            openings = all.compactMap { RecordedOpening($0) }.sorted { $0.time < $1.time }
            return
        }
        let last = head.openings
        for number in last - min(last, UInt64(OpeningLayout.keptOpenings))..<last {
            let entry = bytes[layout.place(ofOpening: number)]
            if let opening = RecordedOpening(entry) { openings.append(opening) } else { defects += 1 }
        }
        var hours: [(hour: Int, hits: Int)] = []
        for number in 0..<OpeningLayout.keptHours {
            let ended = OpeningLayout.Hour(bytes[layout.place(ofHour: UInt32(number))])
            let hour = Int(ended.hour)
            if ended.hits > 0, hour % OpeningLayout.keptHours == number, ended.hour != head.hour {
                hours.append((hour, Int(ended.hits)))
            }
        }
        if let last = head.lastHour { hours.append((Int(last.hour), Int(last.hits))) }
        let oldest = (hours.map(\.hour).max() ?? 0) - OpeningLayout.keptHours
        hours.removeAll { $0.hour <= oldest }
        hitsByHour = hours.sorted { $0.hour < $1.hour }
    }
}

/// The offsets of data in the statistics file.
///
///     0               "FIstat01"
///     40,960 x n      cache number n
///         0           hits 8 | last hit 8 | hour 4 | hits in that hour 4 | openings so far 8 | checksum of its name 4 | checksum 4
///         64          720 x (hour 4 | hits 4): hours that have ended, each at its number modulo 720
///         8,192       256 x 128: openings, each at its number modulo 256
///
///     an opening      time 8 | milliseconds 4 | kind 1 | whether it is stored 1 | lengths of three texts 3 | rows 8
///                     | commit before 8 | reason, process, author | zeros to 124 | checksum 4
///
/// Times are seconds since 1970 as doubles. Hours are counted since 1970. Numbers are little-endian. An opening doesn't
/// cross a disk sector's boundary.
struct OpeningLayout {
    static let magic = Array("FIstat01".utf8)
    static let magicPlace = 0..<8
    static let length = 40_960
    static let keptHours = 720
    static let keptOpenings = 256
    fileprivate static let openingLength = 128
    private static let hoursOffset = 64
    private static let openingsOffset = 8192

    private let start: Int

    init(of cache: UInt32) { start = Int(cache) * Self.length }

    var all: Range<Int> { start..<start + Self.length }
    var head: Range<Int> { start..<start + Head.length }
    var openings: Range<Int> { start + Self.openingsOffset..<start + Self.length }

    func place(ofHour hour: UInt32) -> Range<Int> {
        let offset = start + Self.hoursOffset + Int(hour) % Self.keptHours * 8
        return offset..<offset + 8
    }

    func place(ofOpening number: UInt64) -> Range<Int> {
        let offset = start + Self.openingsOffset + Int(number % UInt64(Self.keptOpenings)) * Self.openingLength
        return offset..<offset + Self.openingLength
    }

    static func hour(of time: Double) -> UInt32 { UInt32(min(max(0, time / 3600), Double(UInt32.max))) }

    /// The number of hits in an hour.
    struct Hour {
        let hour: UInt32
        let hits: UInt32

        init(_ hour: UInt32, hits: UInt32) { (self.hour, self.hits) = (hour, hits) }

        init(_ bytes: ArraySlice<UInt8>) {
            let bytes = Array(bytes)
            let span = bytes.span.bytes
            hour = UInt32(littleEndian: span.unsafeLoadUnaligned(as: UInt32.self))
            hits = UInt32(littleEndian: span.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self))
        }

        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            bytes.appendNumber(hour)
            bytes.appendNumber(hits)
            return bytes
        }
    }

    struct Head {
        static let length = 40

        var hits: UInt64 = 0
        var lastHit: Double = 0
        private(set) var hour: UInt32 = 0
        var hourHits: UInt32 = 0
        var openings: UInt64 = 0
        private(set) var isDamaged = false
        /// Whether the statistics belong to a cache of another name, which had the same number before.
        private(set) var isOfAnother = false
        private let name: UInt32

        init(of name: String) {
            var name = name
            self.name = name.withUTF8 { $0.span.bytes.checksum }
        }

        /// Decodes the head of a cache's statistics from the beginning of these bytes. The head is empty if all of its
        /// bytes are zero.
        init(_ bytes: RawSpan, of name: String) {
            self.init(of: name)
            let head = bytes.extracting(first: Self.length)
            if head.byteOffsets.allSatisfy({ head.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 }) { return }
            do {
                var reader = try ByteReader(checked: head, subject: { "" }, damage: Unreadable.init)
                hits = try reader.uint64()
                lastHit = Double(bitPattern: try reader.uint64())
                hour = try reader.uint32()
                hourHits = try reader.uint32()
                openings = try reader.uint64()
                isOfAnother = try reader.uint32() != self.name
            } catch { isDamaged = true }
            if isOfAnother { (hits, lastHit, hour, hourHits, openings) = (0, 0, 0, 0, 0) }
        }

        /// The hour in which hits were last counted, with their number; nil if it has none. It may have ended long ago.
        var lastHour: Hour? { hourHits > 0 ? Hour(hour, hits: hourHits) : nil }

        /// Begins an hour. `counted` is the entry at the new hour's offset in the file. If it's of the same hour, its
        /// hits are kept.
        mutating func begin(_ new: UInt32, after counted: Hour) {
            hour = new
            hourHits = counted.hour == new ? counted.hits : 0
        }

        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Self.length)
            bytes.appendNumber(hits)
            bytes.appendNumber(lastHit.bitPattern)
            bytes.appendNumber(hour)
            bytes.appendNumber(hourHits)
            bytes.appendNumber(openings)
            bytes.appendNumber(name)
            bytes.appendChecksum()
            return bytes
        }
    }
}

private struct Unreadable: Error {
    init(_: String) {}
}

extension RecordedOpening {
    /// Times of this many seconds (about 30,000 years) or more count as damaged.
    private static let greatestTime = 1e12
    /// The maximum lengths in bytes of the opening's reason, process and author.
    private static let textLengths = [24, 32, 35]

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(OpeningLayout.openingLength)
        bytes.appendNumber(time.bitPattern)
        bytes.appendNumber(milliseconds.bitPattern)
        bytes.append(kind.rawValue)
        bytes.append(isStored ? 1 : 0)
        let lengths = bytes.count
        bytes += [0, 0, 0]
        bytes.appendNumber(UInt64(clamping: rowCount))
        bytes.appendNumber(start)
        bytes[lengths] = Self.append(reason?.rawValue ?? "", Self.textLengths[0], to: &bytes)
        bytes[lengths + 1] = Self.append(process, Self.textLengths[1], to: &bytes)
        bytes[lengths + 2] = Self.append(author, Self.textLengths[2], to: &bytes)
        while bytes.count < OpeningLayout.openingLength - 4 { bytes.append(0) }
        bytes.appendChecksum()
        return bytes
    }

    /// Appends a text. If it has more than `most` bytes, cuts it after a whole character. Returns the number of
    /// appended bytes.
    private static func append(_ text: String, _ most: Int, to bytes: inout [UInt8]) -> UInt8 {
        // A character has at least one byte, so this many characters are enough.
        var text = text.utf8.count > most ? String(text.prefix(most)) : text
        while text.utf8.count > most { text.removeLast() }
        text.withUTF8 { bytes.append(contentsOf: $0) }
        return UInt8(text.utf8.count)
    }

    /// Decodes an opening. Returns nil if the bytes are damaged or of an unknown kind.
    init?(_ bytes: ArraySlice<UInt8>) {
        do {
            let bytes = Array(bytes)
            let span = bytes.span.bytes
            var reader = try ByteReader(checked: span, subject: { "" }, damage: Unreadable.init)
            time = Double(bitPattern: try reader.uint64())
            milliseconds = Float(bitPattern: try reader.uint32())
            guard let kind = Kind(rawValue: try reader.uint8()), milliseconds.isFinite, milliseconds >= 0,
                time.isFinite,
                abs(time) < Self.greatestTime
            else { return nil }
            self.kind = kind
            isStored = try reader.uint8() != 0
            var lengths: [Int] = []
            for _ in 0..<3 { lengths.append(Int(try reader.uint8())) }
            rowCount = Int(clamping: try reader.uint64())
            start = try reader.uint64()
            var texts: [String] = []
            for length in lengths {
                let range = try reader.range(length)
                guard let text = String(validating: bytes[range], as: UTF8.self) else { return nil }
                texts.append(text)
            }
            (reason, process, author) = (RebuildReason(rawValue: texts[0]), texts[1], texts[2])
        } catch { return nil }
    }
}
