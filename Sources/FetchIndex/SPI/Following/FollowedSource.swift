internal import FetchIndexEssentials
internal import FetchIndexModels
package import FetchIndexPlatform
internal import FetchIndexRecords

// For the module that follows a source: its facts, in the store and in a file beside it. Users follow a source with the
// tool.
extension PersistentContainer {
    /// Reads the description of the followed source, or a part of it, in the newest state; nil if the store doesn't
    /// follow a source. Throws `StoreError`.
    package func followedSource<Source: Decodable>(as type: Source.Type) throws -> Source? {
        try withPublicErrors { try store.snapshot().followedSource(as: type) }
    }

    /// The position in the source that the store has reached, in the newest state; nil before the first copy. Throws
    /// `StoreError`.
    package func sourcePosition() throws -> SourcePosition? {
        try withPublicErrors { try store.snapshot().sourcePosition() }
    }

    /// Writes a report of the process that follows the source, for `info`. Errors are ignored.
    package func setSourceStatus(_ status: SourceStatus) { store.setSourceStatus(status) }

    /// Takes the lock of the process that follows a source for a store. Returns nil if the lock is held. Throws
    /// `SystemError`.
    package static func lockForFollowing(storeAt path: String) throws -> FolderLock? {
        try FolderLock(StoreFiles.followLock, inFolder: path, until: .now)
    }

    /// Releases the mapped pages of the store's file, after many were written.
    package func releasePages() { store.releasePages() }
}

extension KeyedRowWriter {
    /// Stores the description of the followed source, in the transaction of the rows. Throws `StoreError`.
    package func setFollowedSource(_ source: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(source), as: UTF8.self)
        var bytes: [UInt8] = []
        bytes.appendText(text)
        try setBeside { try $0.setAttachment(.source, to: bytes) }
    }

    /// Stores the position that was reached in the source, in the transaction of the rows. Throws `StoreError`.
    package func setSourcePosition(_ position: SourcePosition) throws {
        try setBeside { try $0.setSourcePosition(position) }
    }

    /// Deletes the description of the source and the position. Throws `StoreError`.
    package func endFollowing() throws {
        try setBeside {
            try $0.setAttachment(.source, to: nil)
            try $0.setAttachment(.sourcePosition, to: nil)
        }
    }
}
