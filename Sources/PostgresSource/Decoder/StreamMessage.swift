/// The description of a table in the stream. The stream sends it before the table's first row, and again before the
/// first row after a change of the table.
package struct StreamedTable: Equatable {
    package struct Column: Equatable {
        package let isIdentity: Bool
        package let name: String
        package let type: UInt32
        package let modifier: Int32
    }

    package let number: UInt32
    package let schema: String
    package let name: String
    package let columns: [Column]
}

/// A value of a row, in a message or in a `CopiedRow`.
package enum StreamedValue: Equatable {
    case null
    /// A large value that wasn't changed and therefore isn't sent.
    case unchanged
    /// The range of the value's text in the bytes of the message or of the `CopiedRow`.
    case text(Range<Int>)
}

/// A message of the output plugin pgoutput, in version 1 of its protocol, which servers since PostgreSQL 10 can send.
/// PostgreSQL documentation, "Logical Replication Message Formats".
package enum StreamMessage: Equatable {
    /// `end` is the position of the transaction's commit.
    case begin(end: LogPosition, time: Double, transaction: UInt32)
    /// `next` is the position after the commit.
    case commit(next: LogPosition, time: Double)
    case table(StreamedTable)
    case insert(table: UInt32, [StreamedValue])
    /// `old` has the old values of the identity; nil if they weren't sent. They are sent, for example, if they changed,
    /// or if the whole row is the identity.
    case update(table: UInt32, old: [StreamedValue]?, [StreamedValue])
    case delete(table: UInt32, old: [StreamedValue])
    case truncate(tables: [UInt32])
    /// A message that concerns no row: an origin, a type, or one that a function has emitted.
    case other
}

extension StreamMessage {
    /// The error for a message that violates the protocol.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ reason: String) { description = "the source has sent a message that cannot be read: \(reason)" }
    }

    /// Reads a message. Lengths and counts are checked against the number of bytes. O(bytes).
    package init(_ bytes: RawSpan) throws(Malformed) {
        var reader = MessageReader(bytes)
        switch try reader.byte() {
        case Self.letter("B"):
            let (end, time) = (try reader.position(), try reader.time())
            self = .begin(end: end, time: time, transaction: try reader.uint32())
        case Self.letter("C"):
            // Skips unused flags and the position of the commit.
            _ = (try reader.byte(), try reader.position())
            let next = try reader.position()
            self = .commit(next: next, time: try reader.time())
        case Self.letter("R"): self = .table(try reader.table())
        case Self.letter("I"):
            let table = try reader.uint32()
            try reader.expect(["N"])
            self = .insert(table: table, try reader.values())
        case Self.letter("U"): self = try reader.update()
        case Self.letter("D"):
            let table = try reader.uint32()
            try reader.expect(["K", "O"])
            self = .delete(table: table, old: try reader.values())
        case Self.letter("T"): self = .truncate(tables: try reader.tableNumbers())
        case Self.letter("O"), Self.letter("Y"), Self.letter("M"):
            self = .other
            return
        case let kind: throw Malformed("it is of the unknown kind \(kind)")
        }
        guard reader.left == 0 else { throw Malformed("it has \(reader.left) bytes too many") }
    }

    fileprivate static func letter(_ letter: Unicode.Scalar) -> UInt8 { UInt8(ascii: letter) }
}

/// Reads the numbers, in network order, and the texts of a message.
struct MessageReader: ~Escapable {
    private let bytes: RawSpan
    private var offset = 0

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) { self.bytes = bytes }

    var left: Int { bytes.byteCount - offset }

    private mutating func skip(_ length: Int) throws(StreamMessage.Malformed) -> Int {
        guard length >= 0, length <= left else { throw StreamMessage.Malformed("it ends too soon") }
        defer { offset += length }
        return offset
    }

    mutating func byte() throws(StreamMessage.Malformed) -> UInt8 {
        let start = try skip(1)
        return bytes.unsafeLoad(fromByteOffset: start, as: UInt8.self)
    }

    mutating func uint16() throws(StreamMessage.Malformed) -> UInt16 {
        let start = try skip(2)
        return UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt16.self))
    }

    mutating func uint32() throws(StreamMessage.Malformed) -> UInt32 {
        let start = try skip(4)
        return UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt32.self))
    }

    mutating func uint64() throws(StreamMessage.Malformed) -> UInt64 {
        let start = try skip(8)
        return UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
    }

    mutating func position() throws(StreamMessage.Malformed) -> LogPosition { LogPosition(try uint64()) }

    /// Reads a time, and converts it from microseconds since 2000 to seconds since 1970.
    mutating func time() throws(StreamMessage.Malformed) -> Double {
        Double(Int64(bitPattern: try uint64())) / 1e6 + 946_684_800
    }

    /// Reads a text that ends with a zero byte.
    private mutating func text() throws(StreamMessage.Malformed) -> String {
        let start = offset
        while try byte() != 0 {}
        let text = bytes.extracting(start..<offset - 1).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { throw StreamMessage.Malformed("a name is not UTF-8") }
        return text
    }

    @discardableResult
    fileprivate mutating func expect(_ letters: [Unicode.Scalar]) throws(StreamMessage.Malformed) -> UInt8 {
        let found = try byte()
        guard letters.contains(where: { UInt8(ascii: $0) == found }) else {
            throw StreamMessage.Malformed("a row begins with the byte \(found)")
        }
        return found
    }

    fileprivate mutating func table() throws(StreamMessage.Malformed) -> StreamedTable {
        let number = try uint32()
        let (schema, name) = (try text(), try text())
        _ = try byte()  // The kind of identity, which is read from the catalogue.
        let count = Int(try uint16())
        var columns: [StreamedTable.Column] = []
        for _ in 0..<count {
            let flags = try byte()
            let name = try text()
            let type = try uint32()
            let modifier = Int32(bitPattern: try uint32())
            columns.append(
                StreamedTable.Column(isIdentity: flags & 1 != 0, name: name, type: type, modifier: modifier))
        }
        return StreamedTable(number: number, schema: schema, name: name, columns: columns)
    }

    fileprivate mutating func update() throws(StreamMessage.Malformed) -> StreamMessage {
        let table = try uint32()
        var old: [StreamedValue]?
        if try expect(["N", "K", "O"]) != UInt8(ascii: "N") {
            old = try values()
            try expect(["N"])
        }
        return .update(table: table, old: old, try values())
    }

    fileprivate mutating func tableNumbers() throws(StreamMessage.Malformed) -> [UInt32] {
        let count = Int(try uint32())
        _ = try byte()
        guard count <= left / 4 else { throw StreamMessage.Malformed("it ends too soon") }
        var numbers: [UInt32] = []
        for _ in 0..<count { numbers.append(try uint32()) }
        return numbers
    }

    fileprivate mutating func values() throws(StreamMessage.Malformed) -> [StreamedValue] {
        let count = Int(try uint16())
        guard count <= left else { throw StreamMessage.Malformed("it ends too soon") }
        var values: [StreamedValue] = []
        values.reserveCapacity(count)
        for _ in 0..<count {
            switch try byte() {
            case UInt8(ascii: "n"): values.append(.null)
            case UInt8(ascii: "u"): values.append(.unchanged)
            case UInt8(ascii: "t"):
                let length = Int(try uint32())
                let start = try skip(length)
                values.append(.text(start..<start + length))
            case let kind: throw StreamMessage.Malformed("a value is of the unknown kind \(kind)")
            }
        }
        return values
    }
}
