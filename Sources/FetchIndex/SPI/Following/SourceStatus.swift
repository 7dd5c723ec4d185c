internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// A report of the process that follows a source. Each source's report is in a file of its own in the store's folder, so
/// losing the file loses only the report.
///
/// For the module that follows a source. Users read ``StoreInformation/Source``.
package struct SourceStatus: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case copying
        case streaming
        /// The source can't be reached.
        case disconnected
        case stopped
    }

    /// The time of the report, in seconds since 1970.
    package var time: Double
    package var process: Int
    package var state: State
    /// When the source was last heard from, in seconds since 1970; nil if this process hasn't heard from it.
    package var heard: Double?
    /// The number of bytes in the source's log that the store hasn't received; nil if unknown.
    package var lagBytes: Int?
    /// The delay of the store in seconds; nil if unknown.
    package var lagSeconds: Double?
    /// The slot's state in PostgreSQL's words (`wal_status`); nil if unknown.
    package var slotState: String?
    /// The size of the log that the source keeps for the slot, in bytes; nil if unknown.
    package var retainedBytes: Int?
    /// The reason for the state, if any.
    package var reason: String?

    package init(
        time: Double, process: Int, state: State, heard: Double? = nil, lagBytes: Int? = nil, lagSeconds: Double? = nil,
        slotState: String? = nil, retainedBytes: Int? = nil, reason: String? = nil
    ) {
        (self.time, self.process, self.state, self.heard) = (time, process, state, heard)
        (self.lagBytes, self.lagSeconds) = (lagBytes, lagSeconds)
        (self.slotState, self.retainedBytes, self.reason) = (slotState, retainedBytes, reason)
    }
}

extension Store {
    private static let mostStatusBytes = 4096

    private func sourceStatusPath(_ name: String) -> String {
        path + "/" + StoreFiles.sourceStatus + (name == SourceName.main ? "" : "." + name)
    }

    /// Reads the last report about a source; nil if it is missing or can't be read.
    func sourceStatus(named name: String) -> SourceStatus? {
        guard let file = try? OpenFile(sourceStatusPath(name), O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.mostStatusBytes)
        let count = bytes.withUnsafeMutableBytes { pread(file.descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return try? JSONDecoder().decode(SourceStatus.self, from: Data(bytes[..<count].filter { $0 != 0 }))
    }

    /// Writes a report. Ignores errors, because reports are only shown to users.
    func setSourceStatus(_ status: SourceStatus, named name: String) {
        var status = status
        // A long reason is shortened, so that the report usually fits into the file.
        status.reason = status.reason.map { String($0.prefix(500)) }
        guard let text = try? JSONEncoder().encode(status), text.count < Self.mostStatusBytes,
            let file = try? OpenFile(sourceStatusPath(name), O_RDWR | O_CREAT | O_NONBLOCK)
        else { return }
        // A single call writes the whole file, so that a reader usually doesn't get half of a report.
        let bytes = [UInt8](text) + [UInt8](repeating: 0, count: Self.mostStatusBytes - text.count)
        let descriptor = file.descriptor
        _ = bytes.withUnsafeBytes { bytes in
            FileSizeLimit.withoutSignal { pwrite(descriptor, bytes.baseAddress, bytes.count, 0) }
        }
        withExtendedLifetime(file) {}
    }

    /// The process that is following sources for the store; nil without one.
    static func follower(at path: String) -> Int? {
        FolderLock.valueOfHeld(StoreFiles.followLock, inFolder: path).map { Int(clamping: $0) }
    }
}
