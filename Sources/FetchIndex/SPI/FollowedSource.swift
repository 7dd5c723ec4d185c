internal import FetchIndexModels
package import FetchIndexPlatform
internal import FetchIndexRecords

// What a module that follows a source keeps in the store, and beside it. Users follow a source with the tool.
extension PersistentContainer {
    /// What the store follows, or a part of it, in the newest state; nil in a store that follows nothing. Throws `StoreError.corrupted`.
    package func followedSource<Source: Decodable>(as type: Source.Type) throws -> Source? {
        try withPublicErrors { try store.snapshot().followedSource(as: type) }
    }

    /// How far the store has followed its source, in the newest state; nil before the first copy. Throws `StoreError.corrupted`.
    package func sourcePosition() throws -> SourcePosition? {
        try withPublicErrors { try store.snapshot().sourcePosition() }
    }

    /// Writes a report of the process that follows, for `info`. Errors are ignored.
    package func setSourceStatus(_ status: SourceStatus) { store.setSourceStatus(status) }

    /// The lock of the process that follows a source for a store; nil while another process has it. Throws `SystemError`.
    package static func lockForFollowing(storeAt path: String) throws -> FolderLock? {
        try FolderLock(StoreFiles.followLock, inFolder: path, until: .now)
    }

    /// Gives mapped pages of the file back to the system, after many were written.
    package func releasePages() { store.releasePages() }
}

extension KeyedRowWriter {
    /// Stores what is followed, with the transaction's rows. Throws `StoreError`.
    package func setFollowedSource(_ source: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(source), as: UTF8.self)
        var bytes: [UInt8] = []
        bytes.appendText(text)
        try setBeside { try $0.setAttachment(.source, to: bytes) }
    }

    /// Stores how far the source was followed, with the transaction's rows. Throws `StoreError`.
    package func setSourcePosition(_ position: SourcePosition) throws {
        try setBeside { try $0.setSourcePosition(position) }
    }

    /// Forgets what is followed, and how far. Throws `StoreError`.
    package func endFollowing() throws {
        try setBeside {
            try $0.setAttachment(.source, to: nil)
            try $0.setAttachment(.sourcePosition, to: nil)
        }
    }
}
