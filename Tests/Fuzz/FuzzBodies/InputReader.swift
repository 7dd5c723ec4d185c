/// Reads numbers and byte strings from a fuzz input. Numbers beyond its end are read as 0, and byte strings are cut off
/// there, so that every input has a meaning.
struct InputReader {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { rest = input[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next number, of two bytes, little-endian.
    mutating func number() -> Int {
        let low = Int(byte())
        return low | Int(byte()) << 8
    }

    /// Returns the next `count` bytes, or fewer at the end of the input.
    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return [UInt8](rest.prefix(count))
    }

    mutating func remaining() -> [UInt8] { bytes(rest.count) }
}
