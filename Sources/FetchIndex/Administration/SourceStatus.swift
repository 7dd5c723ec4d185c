internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The last report of the process that follows a source. It is written every second to a file beside the store, not in a
/// transaction: only the report is lost with the file.
package struct SourceStatus: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case copying
        case streaming
        /// The source cannot be reached.
        case disconnected
        case stopped
    }

    /// When it was reported, in seconds since 1970.
    package var time: Double
    package var process: Int
    package var state: State
    /// How far the source's changes are ahead, in bytes of its log; nil where it is not known.
    package var lagBytes: Int?
    package var lagSeconds: Double?
    /// What the source says of the slot, and how many bytes of its log are retained for it.
    package var slotState: String?
    package var retainedBytes: Int?
    /// Why it is as it is.
    package var reason: String?

    package init(
        time: Double, process: Int, state: State, lagBytes: Int? = nil, lagSeconds: Double? = nil,
        slotState: String? = nil, retainedBytes: Int? = nil, reason: String? = nil
    ) {
        (self.time, self.process, self.state) = (time, process, state)
        (self.lagBytes, self.lagSeconds) = (lagBytes, lagSeconds)
        (self.slotState, self.retainedBytes, self.reason) = (slotState, retainedBytes, reason)
    }
}

extension Store {
    private static let mostStatusBytes = 4096

    /// Reads the last report; nil if it is missing or can't be read.
    var sourceStatus: SourceStatus? {
        guard let file = try? OpenFile(path + "/" + StoreFiles.sourceStatus, O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.mostStatusBytes)
        let count = bytes.withUnsafeMutableBytes { pread(file.descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return try? JSONDecoder().decode(SourceStatus.self, from: Data(bytes[..<count].filter { $0 != 0 }))
    }

    /// Writes a report. Errors are ignored.
    func setSourceStatus(_ status: SourceStatus) {
        var status = status
        // The report must fit.
        status.reason = status.reason.map { String($0.prefix(500)) }
        guard let text = try? JSONEncoder().encode(status), text.count < Self.mostStatusBytes,
            let file = try? OpenFile(path + "/" + StoreFiles.sourceStatus, O_RDWR | O_CREAT | O_NONBLOCK)
        else { return }
        // One write of the whole, so that a reader meets no half of it.
        let bytes = [UInt8](text) + [UInt8](repeating: 0, count: Self.mostStatusBytes - text.count)
        let descriptor = file.descriptor
        _ = bytes.withUnsafeBytes { bytes in
            FileSizeLimit.withoutSignal { pwrite(descriptor, bytes.baseAddress, bytes.count, 0) }
        }
        withExtendedLifetime(file) {}
    }

    /// Whether a process follows a source now, for this store.
    static func isFollowing(at path: String) -> Bool {
        FolderLock.valueOfHeld(StoreFiles.followLock, inFolder: path) != nil
    }
}
