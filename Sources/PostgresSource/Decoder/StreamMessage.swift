/// A table as the stream describes it, before its first row and whenever it has changed.
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

/// A value of a row; the range is that of its text in the message.
package enum StreamedValue: Equatable {
    case null
    /// A large value that the statement did not change, and that is not sent.
    case unchanged
    case text(Range<Int>)
}

/// A message of the output plugin pgoutput, of version 1 of its protocol: what servers of version 10 on send that are asked for it.
/// PostgreSQL documentation, 55.9 "Logical Replication Message Formats".
package enum StreamMessage: Equatable {
    /// `end` is the position of the transaction's commit.
    case begin(end: LogPosition, time: Double, transaction: UInt32)
    /// `next` is the position after the commit.
    case commit(next: LogPosition, time: Double)
    case table(StreamedTable)
    case insert(table: UInt32, [StreamedValue])
    /// `old` has the values of the identity, or all: where the identity changed, or is the whole row.
    case update(table: UInt32, old: [StreamedValue]?, [StreamedValue])
    case delete(table: UInt32, old: [StreamedValue])
    case truncate(tables: [UInt32])
    /// Origins, types and what decoding functions emit.
    case other
}

extension StreamMessage {
    /// A message that is not as the protocol has it.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ reason: String) { description = "the source has sent a message that cannot be read: \(reason)" }
    }

    /// Reads a message. Lengths and counts are trusted no further than there are bytes. O(its values).
    package init(_ bytes: RawSpan) throws(Malformed) {
        var reader = MessageReader(bytes)
        switch try reader.byte() {
        case Self.letter("B"):
            let (end, time) = (try reader.position(), try reader.time())
            self = .begin(end: end, time: time, transaction: try reader.uint32())
        case Self.letter("C"):
            // Flags, which are unused, and the commit's own position.
            _ = (try reader.byte(), try reader.position())
            let next = try reader.position()
            self = .commit(next: next, time: try reader.time())
        case Self.letter("R"): self = .table(try reader.table())
        case Self.letter("I"):
            let table = try reader.uint32()
            try reader.expect(["N"])
            self = .insert(table: table, try reader.values())
        case Self.letter("U"):
            let table = try reader.uint32()
            var old: [StreamedValue]?
            if try reader.expect(["N", "K", "O"]) != Self.letter("N") {
                old = try reader.values()
                try reader.expect(["N"])
            }
            self = .update(table: table, old: old, try reader.values())
        case Self.letter("D"):
            let table = try reader.uint32()
            try reader.expect(["K", "O"])
            self = .delete(table: table, old: try reader.values())
        case Self.letter("T"):
            let count = Int(try reader.uint32())
            _ = try reader.byte()
            // Four bytes each.
            guard count <= reader.left / 4 else { throw Malformed("it ends too soon") }
            var tables: [UInt32] = []
            for _ in 0..<count { tables.append(try reader.uint32()) }
            self = .truncate(tables: tables)
        case Self.letter("O"), Self.letter("Y"), Self.letter("M"):
            self = .other
            return
        case let kind: throw Malformed("it is of the unknown kind \(kind)")
        }
        guard reader.left == 0 else { throw Malformed("it has \(reader.left) bytes too many") }
    }

    fileprivate static func letter(_ letter: Unicode.Scalar) -> UInt8 { UInt8(ascii: letter) }
}

/// Reads numbers in network order and texts one after the other.
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

    /// Seconds since 1970; the source counts microseconds since 2000.
    mutating func time() throws(StreamMessage.Malformed) -> Double {
        Double(Int64(bitPattern: try uint64())) / 1e6 + 946_684_800
    }

    /// Text that ends with a zero.
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
            throw StreamMessage.Malformed("a row begins with \(found)")
        }
        return found
    }

    fileprivate mutating func table() throws(StreamMessage.Malformed) -> StreamedTable {
        let number = try uint32()
        let (schema, name) = (try text(), try text())
        _ = try byte()  // What rows are identified by: known from the catalogue.
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
