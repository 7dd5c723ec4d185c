internal import Foundation

/// A compiled time zone that a test makes: TZif of version 2, RFC 8536.
package struct CompiledZone {
    /// The moments when clocks change, in seconds since 1970, and the index of the offset after each change.
    package var changes: [(moment: Int64, offset: UInt8)] = []
    /// Offsets in seconds ahead of UTC. The first one applies before all changes.
    package var offsets: [Int32]
    /// The rule for the time after the last change, in the TZ form of POSIX.
    package var rule: String

    package init(changes: [(moment: Int64, offset: UInt8)] = [], offsets: [Int32], rule: String) {
        (self.changes, self.offsets, self.rule) = (changes, offsets, rule)
    }

    package var bytes: [UInt8] {
        let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
        func number(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        let counts = [0, 0, 0, Int32(changes.count), Int32(offsets.count), 4].flatMap { number($0) }
        // The first block is for readers of version 1, and has only one offset.
        let old =
            header + [0, 0, 0, 0, 1, 4].flatMap { number(Int32($0)) } + number(Int32(0)) + [0, 0] + Array("UTC\0".utf8)
        return old + header + counts + changes.flatMap { number($0.moment) } + changes.map(\.offset)
            + offsets.flatMap { number($0) + [0, 0] } + Array("LMT\0\n\(rule)\n".utf8)
    }

    /// Writes time zones, by their names, and the version of their data to a folder.
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
