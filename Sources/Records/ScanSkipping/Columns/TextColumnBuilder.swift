internal import FetchIndexPlatform

/// Builds a column from the texts that the records of a zone, or of a part of a batch, have in a slot. A place is the
/// index of an object number in the zone, or of a record in the part.
struct TextColumnBuilder: Sendable {
    let slot: Int
    /// Whether the builder gave up, because there were too many different texts or a text was too long.
    private(set) var hasGivenUp = false
    /// The code of each place.
    private var codes: [UInt16]
    /// The bytes of the different texts, one after another.
    private var bytes: [UInt8] = []
    /// The offset in `bytes` at which each text ends.
    private var ends: [Int] = []
    /// A hash table of the texts' codes with open addressing. 0 marks an empty element.
    private var table = [UInt16](repeating: 0, count: Self.tableLength)
    private var lastCode = 0
    private let mostTexts: Int

    private static let tableLength = 4 * TextColumn.mostTexts

    /// Creates a builder for a column of `count` places.
    init(slot: Int, places count: Int, mostTexts: Int = TextColumn.mostTexts) {
        self.slot = slot
        self.mostTexts = mostTexts
        codes = Array(repeating: UInt16(TextColumn.absent), count: count)
    }

    /// Sets the code at a place to the code of the record's text. O(length of the text).
    mutating func set(_ record: borrowing RecordView, at place: Int) throws {
        if hasGivenUp { return }
        guard let range = try record.range(of: slot) else {
            codes[place] = UInt16(TextColumn.null)
            return
        }
        guard let code = code(of: record.bytes(range)) else { return giveUp() }
        codes[place] = UInt16(truncatingIfNeeded: code)
    }

    /// Copies the codes of another builder's places to the places that begin at `place`. O(texts + places).
    mutating func set(_ other: borrowing TextColumnBuilder, _ places: Range<Int>, at place: Int) {
        if hasGivenUp { return }
        if other.hasGivenUp { return giveUp() }
        // For each code of the other builder, the code in this one; 0 if it hasn't been looked up yet.
        var known = [UInt16](repeating: 0, count: TextColumn.firstText + other.ends.count)
        (known[TextColumn.absent], known[TextColumn.null]) = (UInt16(TextColumn.absent), UInt16(TextColumn.null))
        for (offset, code) in other.codes[places].enumerated() {
            let index = Int(code)
            if known[index] == 0, index >= TextColumn.firstText {
                guard let code = self.code(of: other.bytes.span.bytes.extracting(other.range(of: index))) else {
                    return giveUp()
                }
                known[index] = UInt16(truncatingIfNeeded: code)
            }
            codes[place + offset] = known[index]
        }
    }

    /// Frees the hash table. No more texts can be added.
    mutating func finish() { table = [] }

    private mutating func giveUp() {
        hasGivenUp = true
        (codes, bytes, ends, table) = ([], [], [], [])
    }

    private mutating func code(of text: RawSpan) -> Int? {
        // Fast path: successive records often have the same text.
        if lastCode > 0, isText(text, lastCode) { return lastCode }
        if text.byteCount > TextColumn.longestText { return nil }
        var index = Int(truncatingIfNeeded: text.hash) & (Self.tableLength - 1)
        while table[index] != 0 {
            if isText(text, Int(table[index])) {
                lastCode = Int(table[index])
                return lastCode
            }
            index = (index + 1) & (Self.tableLength - 1)
        }
        if ends.count == mostTexts { return nil }
        bytes.appendBytes(text)
        ends.append(bytes.count)
        lastCode = TextColumn.firstText + ends.count - 1
        table[index] = UInt16(truncatingIfNeeded: lastCode)
        return lastCode
    }

    private func isText(_ text: RawSpan, _ code: Int) -> Bool {
        bytes.span.bytes.extracting(range(of: code)).isEqual(to: text)
    }

    private func range(of code: Int) -> Range<Int> {
        let index = code - TextColumn.firstText
        return (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// The bytes of a column of the first `count` object numbers; nil if the builder gave up, or if there are too many
    /// texts for so few numbers.
    func encoded(_ count: Int, at key: TextColumnKey) -> [UInt8]? {
        if hasGivenUp || ends.count * TextColumn.numbersOfText > count { return nil }
        let codeLength = TextColumn.firstText + ends.count <= 1 << 8 ? 1 : 2
        var value: [UInt8] = []
        value.reserveCapacity(bytes.count + 2 * ends.count + codeLength * count + 16)
        value.append(UInt8(codeLength))
        value.appendVarint(UInt64(ends.count))
        var start = 0
        for end in ends {
            value.appendVarint(UInt64(end - start))
            value.append(contentsOf: bytes[start..<end])
            start = end
        }
        if codeLength == 1 {
            value.append(contentsOf: codes[..<count].lazy.map { UInt8(truncatingIfNeeded: $0) })
        } else {
            for code in codes[..<count] { value.appendNumber(code) }
        }
        value.appendChecksum(with: key.checksum)
        return value
    }
}
