/// Splits a list in a JSON document (RFC 8259) into its elements, in memory for one element.
///
/// Looks only for texts, brackets, commas and colons, so that the elements' readers find the errors within them. The
/// document before the list is a series of objects: each has the member that leads on. What follows the list isn't read.
///
///     {"meta": {…}, "data": {"items": [ element, element, … ]}, …}
final class JSONElementSplitter: JSONSplitter {
    private let input: CatalogueInput
    private let reader: FileReader
    /// The members that lead to the list, of which the first `found` have been found.
    private let path: [[UInt8]]
    private var found = 0
    private var line = 1
    private var depth = 0

    /// What is read next.
    private enum Place {
        /// The value that the path has led to so far.
        case value
        /// A member's name, in the object at the path's depth.
        case name
        /// The colon after a member's name; `leadsOn` if the path has the name.
        case colon(leadsOn: Bool)
        /// Anything up to the comma or bracket at the end of a member that doesn't lead on.
        case skipped
        /// An element of the list.
        case element
        /// Nothing: the list has ended.
        case end
    }

    private var place = Place.value
    private var lastWasReturn = false
    private var isInText = false
    private var isEscaped = false
    /// The bytes of the name or element that is being read.
    private var bytes: [UInt8] = []
    private var elementLine = 0
    private var isTooLong = false
    /// The number of elements that have ended with a comma or the list's end.
    private var elementCount = 0

    init(_ input: CatalogueInput, _ path: [String]) throws {
        self.input = input
        self.path = path.map { Array($0.utf8) }
        reader = try FileReader(input)
    }

    var progress: (done: Int, total: Int) { (reader.position, reader.length) }

    var decompressesAhead: Bool {
        get { reader.decompressesAhead }
        set { reader.decompressesAhead = newValue }
    }

    func forEachLine(
        _ body: (UnsafeRawBufferPointer, Int) throws -> Void, tooLong: (BadInput) throws -> Void
    ) throws {
        try reader.forEachPiece { piece in
            var offset = 0
            while offset < piece.count {
                let end = takePlain(piece, from: offset)
                if end > offset {
                    offset = end
                    continue
                }
                let byte = piece[offset]
                try take(byte, body, tooLong)
                // Lines end with LF, CRLF or CR.
                if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") && !lastWasReturn { line += 1 }
                lastWasReturn = byte == UInt8(ascii: "\r")
                offset += 1
            }
        }
        if case .end = place { return }
        throw unreadable("ends before the end of \(list)")
    }

    /// Takes the bytes of an element up to the next one that may end a text or the element, or a line. Returns the offset
    /// after them.
    private func takePlain(_ piece: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard case .element = place, !bytes.isEmpty, !isEscaped, !isTooLong else { return start }
        let most = min(piece.count, start + input.longestLine - bytes.count)
        var end = start
        let isText = isInText
        loop: while end < most {
            switch piece[end] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): break loop
            case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ","):
                if !isText { break loop }
            default: break
            }
            end += 1
        }
        if end > start {
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[start..<end]))
            lastWasReturn = false
        }
        return end
    }

    private func take(
        _ byte: UInt8, _ body: (UnsafeRawBufferPointer, Int) throws -> Void, _ tooLong: (BadInput) throws -> Void
    ) throws {
        switch place {
        case .value: try takeValue(byte)
        case .name: try takeName(byte)
        case .colon(let leadsOn):
            if byte.isBlankOfJSON { return }
            guard byte == UInt8(ascii: ":") else {
                throw unreadable("has no colon after a member's name in line \(line)")
            }
            place = leadsOn ? .value : .skipped
        case .skipped: try skip(byte)
        case .element: try takeElement(byte, body, tooLong)
        case .end:
            // After a list within the document, the rest isn't read.
            if path.isEmpty && !byte.isBlankOfJSON {
                throw unreadable("has more than the list of objects, in line \(line)")
            }
        }
    }

    private func takeValue(_ byte: UInt8) throws {
        if byte.isBlankOfJSON { return }
        let isList = found == path.count
        guard byte == UInt8(ascii: isList ? "[" : "{") else {
            throw unreadable("has no \(isList ? "list" : "object") in line \(line), where \(list) should be")
        }
        place = isList ? .element : .name
    }

    private func takeName(_ byte: UInt8) throws {
        if isInText {
            if takeText(byte) {
                // A longer name can't be the wanted one, of which a byte may be written as \u0000.
                if bytes.count <= 6 * path[found].count { bytes.append(byte) }
            } else {
                let leadsOn = isWanted()
                if leadsOn { found += 1 }
                bytes = []
                place = .colon(leadsOn: leadsOn)
            }
        } else if byte == UInt8(ascii: "\"") {
            isInText = true
        } else if byte == UInt8(ascii: "}") {
            throw unreadable("lacks \(list)")
        } else if !byte.isBlankOfJSON {
            throw unreadable("has no member's name in line \(line), where one was expected")
        }
    }

    /// Whether the name that was read is the next one of the path.
    private func isWanted() -> Bool {
        if !bytes.contains(UInt8(ascii: "\\")) { return bytes == path[found] }
        let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        return quoted.withUnsafeBytes { quoted in
            var scanner = try? JSONScanner(quoted)
            return (try? scanner?.text()).map { Array($0.utf8) == path[found] } ?? false
        }
    }

    /// Takes a byte of a text. Returns false if it ends the text.
    private func takeText(_ byte: UInt8) -> Bool {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInText = false
            return false
        }
        return true
    }

    private func skip(_ byte: UInt8) throws {
        if isInText {
            _ = takeText(byte)
            return
        }
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            if depth == 0 { throw unreadable("lacks \(list)") }
            depth -= 1
        case UInt8(ascii: ",") where depth == 0: place = .name
        default: break
        }
    }

    private func takeElement(
        _ byte: UInt8, _ body: (UnsafeRawBufferPointer, Int) throws -> Void, _ tooLong: (BadInput) throws -> Void
    ) throws {
        if !isInText && depth == 0 {
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
                return try endElement(isLast: byte == UInt8(ascii: "]"), body)
            }
            if bytes.isEmpty {
                if byte.isBlankOfJSON { return }
                elementLine = line
            }
        }
        if isInText {
            _ = takeText(byte)
        } else {
            switch byte {
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth < 0 { throw unreadable("has a bracket too many in line \(line)") }
        }
        if isTooLong { return }
        bytes.append(byte)
        if bytes.count > input.longestLine {
            isTooLong = true
            bytes = [byte]
            try tooLong(input.tooLong("the element", line: elementLine))
        }
    }

    private func endElement(isLast: Bool, _ body: (UnsafeRawBufferPointer, Int) throws -> Void) throws {
        if isLast { place = .end }
        defer {
            bytes.removeAll(keepingCapacity: true)
            isTooLong = false
            elementCount += 1
        }
        if bytes.isEmpty {
            if isLast && elementCount == 0 { return }
            throw unreadable("lacks an element of \(list) in line \(line)")
        }
        if !isTooLong { try bytes.withUnsafeBytes { try body($0, elementLine) } }
    }

    private var list: String {
        path.isEmpty
            ? "the list of objects"
            : "the list \(path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".").excerpt)"
    }

    private func unreadable(_ reason: String) -> UnreadableFile { UnreadableFile(path: input.path, reason: reason) }
}

extension UInt8 {
    fileprivate var isBlankOfJSON: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
