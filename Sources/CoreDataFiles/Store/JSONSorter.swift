internal import FetchIndexPlatform

/// Sorts the members of JSON's objects by their names. SwiftData writes them in no fixed order; sorted, equal values are
/// equal bytes. Numbers, texts and names stay as they are written, because Foundation's decoder rounds numbers and takes
/// names for equal that differ in bytes. RFC 8259.
struct JSONSorter {
    private let bytes: [UInt8]
    private var place = 0
    private static let mostLevels = 256

    /// The JSON without spaces, with sorted members; nil if the bytes aren't JSON. O(n log n) for each level.
    static func sorted(_ bytes: [UInt8]) -> [UInt8]? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var sorter = JSONSorter(bytes: bytes)
        guard let value = sorter.value(level: 0) else { return nil }
        sorter.skipSpaces()
        return sorter.place == bytes.count ? value : nil
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpaces() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
    }

    /// Takes a byte after spaces, if it's next.
    private mutating func take(_ scalar: UnicodeScalar) -> Bool {
        skipSpaces()
        guard next == UInt8(ascii: scalar) else { return false }
        place += 1
        return true
    }

    private mutating func value(level: Int) -> [UInt8]? {
        guard level < Self.mostLevels else { return nil }
        if take("{") { return object(level: level) }
        if take("[") { return list(level: level) }
        switch next {
        case UInt8(ascii: "\""): return text()
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func object(level: Int) -> [UInt8]? {
        var members: [(name: [UInt8], value: [UInt8])] = []
        if !take("}") {
            repeat {
                skipSpaces()
                guard let name = text(), take(":"), let value = value(level: level + 1) else { return nil }
                members.append((name, value))
            } while take(",")
            guard take("}") else { return nil }
        }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return Self.enclosed(members.map { $0.name + [UInt8(ascii: ":")] + $0.value }, "{", "}")
    }

    private mutating func list(level: Int) -> [UInt8]? {
        var elements: [[UInt8]] = []
        if !take("]") {
            repeat {
                guard let value = value(level: level + 1) else { return nil }
                elements.append(value)
            } while take(",")
            guard take("]") else { return nil }
        }
        return Self.enclosed(elements, "[", "]")
    }

    private static func enclosed(_ parts: [[UInt8]], _ start: UnicodeScalar, _ end: UnicodeScalar) -> [UInt8] {
        [UInt8(ascii: start)] + parts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: end)]
    }

    private mutating func word(_ word: String) -> [UInt8]? {
        guard bytes[place...].starts(with: word.utf8) else { return nil }
        place += word.utf8.count
        return Array(word.utf8)
    }

    private mutating func text() -> [UInt8]? {
        guard next == UInt8(ascii: "\"") else { return nil }
        let start = place
        place += 1
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return Array(bytes[start..<place])
            case UInt8(ascii: "\\"): guard takeEscape() else { return nil }
            case 0..<0x20: return nil
            default: break
            }
        }
        return nil
    }

    private mutating func takeEscape() -> Bool {
        guard let byte = next, "\"\\/bfnrtu".utf8.contains(byte) else { return false }
        place += 1
        guard byte == UInt8(ascii: "u") else { return true }
        let digits = bytes[place...].prefix(4)
        place += digits.count
        return digits.count == 4 && digits.allSatisfy { "0123456789abcdefABCDEF".utf8.contains($0) }
    }

    private mutating func number() -> [UInt8]? {
        let start = place
        if next == UInt8(ascii: "-") { place += 1 }
        let first = place
        guard takeDigits(), place == first + 1 || bytes[first] != UInt8(ascii: "0") else { return nil }
        if next == UInt8(ascii: ".") {
            place += 1
            guard takeDigits() else { return nil }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            guard takeDigits() else { return nil }
        }
        return Array(bytes[start..<place])
    }

    private mutating func takeDigits() -> Bool {
        let start = place
        while let byte = next, (0x30...0x39).contains(byte) { place += 1 }
        return place > start
    }
}
