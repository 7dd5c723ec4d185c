internal import Foundation

/// A compiled time zone, for tests that make their own: TZif of version 2, RFC 8536.
package struct CompiledZone {
    /// When clocks change, in seconds since 1970, and the numbers of the offsets from then on.
    package var changes: [(moment: Int64, offset: UInt8)] = []
    /// Seconds ahead of UTC; the first one holds before all changes.
    package var offsets: [Int32]
    /// POSIX's TZ, for what comes after the last change.
    package var rule: String

    package init(changes: [(moment: Int64, offset: UInt8)] = [], offsets: [Int32], rule: String) {
        (self.changes, self.offsets, self.rule) = (changes, offsets, rule)
    }

    package var bytes: [UInt8] {
        let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
        func number(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        let counts = [0, 0, 0, Int32(changes.count), Int32(offsets.count), 4].flatMap { number($0) }
        // The first block is for readers of version 1: one offset, nothing else.
        let old =
            header + [0, 0, 0, 0, 1, 4].flatMap { number(Int32($0)) } + number(Int32(0)) + [0, 0] + Array("UTC\0".utf8)
        return old + header + counts + changes.flatMap { number($0.moment) } + changes.map(\.offset)
            + offsets.flatMap { number($0) + [0, 0] } + Array("LMT\0\n\(rule)\n".utf8)
    }

    /// Writes a folder of zones that says which version of the data it has.
    package static func write(_ zones: [String: CompiledZone], version: String, to folder: String) throws {
        for (name, zone) in zones {
            let path = URL(fileURLWithPath: "\(folder)/\(name)")
            try FileManager.default.createDirectory(
                at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(zone.bytes).write(to: path)
        }
        try Data("# version \(version)\n# made for a test\n".utf8).write(
            to: URL(fileURLWithPath: "\(folder)/tzdata.zi"))
    }
}
