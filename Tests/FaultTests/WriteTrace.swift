import Foundation
import FetchIndexTestSupport

/// What a victim's recorder saw, in order: writes, syncs, truncations and the naming of the data file, syncs of
/// folders, and the ends of steps.
struct WriteTrace {
    enum Event {
        case write(offset: Int, bytes: [UInt8], isDurable: Bool)
        case sync
        case truncate(Int)
        /// The data file got its name.
        case name
        case syncFolder
        /// The program has done `steps` steps, and `transaction` is the store's newest transaction.
        case done(steps: Int, transaction: Int)
    }

    struct Malformed: Error {}

    private(set) var events: [Event] = []

    init(path: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let bytes = [UInt8](data)
        var next = 0
        while next < bytes.count {
            guard bytes.count - next >= 16 else { throw Malformed() }
            let header = bytes[next..<next + 16].withUnsafeBytes { $0.loadUnaligned(as: Header.self) }
            let length = header.kind == 1 ? Int(header.length) : 0
            next += 16
            guard bytes.count - next >= length else { throw Malformed() }
            if let event = Self.event(header, Array(bytes[next..<next + length])) { events.append(event) }
            next += length
        }
    }

    private struct Header {
        var kind: UInt8
        var file: UInt8
        var isDurable: UInt8
        var zero: UInt8
        var length: UInt32
        var offset: UInt64
    }

    /// The event of a trace entry; nil for entries of other files than the data file and folders.
    private static func event(_ header: Header, _ bytes: [UInt8]) -> Event? {
        switch (header.kind, header.file) {
        case (1, 1): .write(offset: Int(header.offset), bytes: bytes, isDurable: header.isDurable != 0)
        case (2, 1): .sync
        case (2, 3): .syncFolder
        case (3, 1): .truncate(Int(header.offset))
        case (4, 1): .name
        case (5, _): .done(steps: Int(header.offset >> 32), transaction: Int(header.offset & 0xFFFF_FFFF))
        default: nil
        }
    }
}

/// A simulated disk under a data file: synced bytes, and writes that may be lost.
struct SimulatedDisk {
    private static let sector = 512

    /// The bytes that survive a power loss in any case.
    private(set) var image: [UInt8] = []
    /// Writes since the last sync, which a power loss may undo.
    private(set) var pending: [(offset: Int, bytes: [UInt8])] = []
    /// Whether the file has its name.
    private(set) var isNamed = false
    /// Whether the name is on disk.
    private(set) var isNameDurable = false

    mutating func apply(_ event: WriteTrace.Event) {
        switch event {
        case .write(let offset, let bytes, let isDurable):
            if isDurable { Self.put(bytes, at: offset, into: &image) } else { pending.append((offset, bytes)) }
        case .sync:
            for (offset, bytes) in pending { Self.put(bytes, at: offset, into: &image) }
            pending = []
        case .truncate(let length):
            if length < image.count { image.removeLast(image.count - length) }
        case .name: isNamed = true
        case .syncFolder: if isNamed { isNameDurable = true }
        case .done: break
        }
    }

    private static func put(_ bytes: [UInt8], at offset: Int, into image: inout [UInt8]) {
        if image.count < offset + bytes.count {
            image.append(contentsOf: repeatElement(0, count: offset + bytes.count - image.count))
        }
        image.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    /// A possible content of the file after a power loss at this moment: all synced bytes, and any sectors of the later
    /// writes, in any order. Returns nil if the file has no name on disk. `next` is the event in flight: if it's a
    /// write, any of its sectors may be on disk.
    func crashed(during next: WriteTrace.Event?, using generator: inout SeededGenerator) -> [UInt8]? {
        guard isNameDurable || isNamed && Bool.random(using: &generator) else { return nil }
        var writes = pending
        if case .write(let offset, let bytes, _) = next { writes.append((offset, bytes)) }
        var sectors: [(offset: Int, bytes: ArraySlice<UInt8>)] = []
        for (offset, bytes) in writes {
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Self.sector - (offset + start) % Self.sector)
                sectors.append((offset + start, bytes[start..<end]))
                start = end
            }
        }
        // The probability with which a sector reaches the disk.
        let shares: [Double] = [0, 0.1, 0.5, 0.9, 1]
        let share = shares.randomElement(using: &generator) ?? 0.5
        var crashed = image
        for (offset, bytes) in sectors.shuffled(using: &generator)
        where Double.random(in: 0..<1, using: &generator) < share {
            Self.put(Array(bytes), at: offset, into: &crashed)
        }
        let length = writes.map { $0.offset + $0.bytes.count }.max() ?? 0
        if length > crashed.count, Bool.random(using: &generator) {
            crashed.append(contentsOf: repeatElement(0, count: length - crashed.count))
        }
        return crashed
    }
}
