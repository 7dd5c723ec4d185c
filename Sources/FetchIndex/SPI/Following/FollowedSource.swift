internal import FetchIndexEssentials
internal import FetchIndexModels
package import FetchIndexPlatform
internal import FetchIndexRecords

/// The names of the sources that a store follows.
package enum SourceName {
    /// The name of a source to which the user gave none.
    package static let main = "main"

    /// The part of the attachments in which a source's description and position are stored.
    static func part(_ name: String) -> String { name == main ? "" : name }
}

/// The description of a followed source, or a part of it.
package protocol SourceDescription {
    var isCopied: Bool { get }
    /// The position at which the followed tables become consistent with each other in the store. Before it, the store
    /// may have rows of different times. Nil if the store doesn't wait for a position.
    var consistentFrom: String? { get }
}

extension SourceDescription {
    /// Whether the store's rows all belong to the same state of the source.
    package var isConsistent: Bool { consistentFrom == nil && isCopied }
}

// For the module that follows sources: their facts, in the store and in files beside it. Users follow sources with the
// tool.
extension PersistentContainer {
    /// Reads the descriptions of all followed sources in the newest state, in the order of their names. Throws
    /// `StoreError`.
    package func followedSources<Source: Decodable>(as type: Source.Type) throws -> [Source] {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            return try snapshot.sourceNames().compactMap { try snapshot.followedSource(named: $0, as: type) }
        }
    }

    /// Reads the description of a followed source, or a part of it, in the newest state; nil if the store doesn't
    /// follow the source. Throws `StoreError`.
    package func followedSource<Source: Decodable>(
        named name: String = SourceName.main, as type: Source.Type
    ) throws -> Source? {
        try withPublicErrors { try store.snapshot().followedSource(named: name, as: type) }
    }

    /// The position in a source that the store has reached, in the newest state; nil before the first copy. Throws
    /// `StoreError`.
    package func sourcePosition(named name: String = SourceName.main) throws -> SourcePosition? {
        try withPublicErrors { try store.snapshot().sourcePosition(named: name) }
    }

    /// Writes a report of the process that follows a source, for `info`. Errors are ignored.
    package func setSourceStatus(_ status: SourceStatus, named name: String) {
        store.setSourceStatus(status, named: name)
    }

    /// Takes the lock of the process that follows sources for a store. Returns nil if the lock is held. Throws
    /// `SystemError`.
    package static func lockForFollowing(storeAt path: String) throws -> FolderLock? {
        try FolderLock(StoreFiles.followLock, inFolder: path, until: .now)
    }

    /// Releases the mapped pages of the store's file, after many were written.
    package func releasePages() { store.releasePages() }
}

extension KeyedRowWriter {
    /// Stores the description of a followed source, in the transaction of the rows. Throws `StoreError`.
    package func setFollowedSource(_ source: some Encodable, named name: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(source), as: UTF8.self)
        var bytes: [UInt8] = []
        bytes.appendText(text)
        try setBeside { try $0.setAttachment(.source, of: SourceName.part(name), to: bytes) }
    }

    /// Stores the position that was reached in a source, in the transaction of the rows. Throws `StoreError`.
    package func setSourcePosition(_ position: SourcePosition, named name: String) throws {
        try setBeside { try $0.setSourcePosition(position, named: name) }
    }

    /// Deletes the description of a source and the position. Throws `StoreError`.
    package func endFollowing(_ name: String) throws {
        try setBeside {
            try $0.setAttachment(.source, of: SourceName.part(name), to: nil)
            try $0.setAttachment(.sourcePosition, of: SourceName.part(name), to: nil)
        }
    }
}
