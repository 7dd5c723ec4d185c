internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexICU
internal import Synchronization

/// The error for a file of time zone data that is damaged or can't be read.
public struct UnusableTimeZone: Error, Equatable, CustomStringConvertible {
    public let description: String
}

/// A folder of compiled time zones, like the system's. It's used if its data are newer than ICU's.
///
/// The version, and each zone that is found, are read once and cached.
package final class ZoneFolder: Sendable {
    private struct State {
        var isVersionKnown = false
        var version: ZoneDataVersion?
        var files: [String: ZoneFile] = [:]
    }

    /// The folder that C programs use: $TZDIR if set, otherwise the system's.
    package static let ofProcess = ZoneFolder(path: getenv("TZDIR").map { String(cString: $0) } ?? "")

    private static let systemPath = "/usr/share/zoneinfo"
    /// The maximum size of a zone's file in bytes, far more than usual.
    private static let longestFile = 1 << 18

    private let path: String
    private let state = Mutex(State())

    /// An empty path means the system's folder.
    package init(path: String) { self.path = path.isEmpty ? Self.systemPath : path }

    /// The version of ICU's data.
    package static var versionOfICU: ZoneDataVersion? {
        fi_zone_data_version().flatMap { ZoneDataVersion(String(cString: $0)) }
    }

    /// The version of the folder's data; nil if the folder is missing or has no version.
    package func version() throws -> ZoneDataVersion? {
        try state.withLock { state in
            if !state.isVersionKnown {
                state.version = try readVersion()
                state.isVersionKnown = true
            }
            return state.version
        }
    }

    /// Whether the zones that this folder has are read from it instead of from ICU.
    package func isNewerThanICU() throws -> Bool {
        guard let version = try version() else { return false }
        return Self.versionOfICU.map { version > $0 } ?? true
    }

    /// Returns a zone by its name. If the folder lacks the name, looks for the equivalent names that ICU knows. Returns
    /// nil if the folder has none of these names.
    func zone(_ name: String) throws -> ZoneFile? {
        if let file = try file(name) { return file }
        for other in Self.otherNames(of: name) {
            if let file = try file(other) { return file }
        }
        return nil
    }

    private func readVersion() throws -> ZoneDataVersion? {
        for (file, prefix) in [("tzdata.zi", "# version "), ("+VERSION", "")] {
            guard let bytes = try bytes(of: file, limit: 128) else { continue }
            let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            if line.hasPrefix(prefix), let version = ZoneDataVersion(line.dropFirst(prefix.count)) { return version }
        }
        return nil
    }

    private func file(_ name: String) throws -> ZoneFile? {
        guard Self.isName(name) else { return nil }
        return try state.withLock { state in
            if let known = state.files[name] { return known }
            let file = try readFile(name)
            if let file { state.files[name] = file }
            return file
        }
    }

    private func readFile(_ name: String) throws(UnusableTimeZone) -> ZoneFile? {
        guard let bytes = try bytes(of: name, limit: Self.longestFile) else { return nil }
        do { return try ZoneFile(bytes) } catch {
            throw UnusableTimeZone(
                description: "\(path)/\(name) is damaged: \(error.reason); install the time zone data again")
        }
    }

    private func bytes(of name: String, limit: Int) throws(UnusableTimeZone) -> [UInt8]? {
        do { return try SmallFile.bytes(of: "\(path)/\(name)", limit: limit) } catch {
            throw UnusableTimeZone(description: "\(path)/\(name), of the time zone data, cannot be read: \(error)")
        }
    }

    /// Whether a text can be the name of a zone in the folder. The names of zones that depend on the machine, that
    /// count leap seconds (right/), or that are duplicates (posix/) are excluded.
    private static func isName(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let letters = text.utf8.allSatisfy { byte in
            byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
                || "_+-/".utf8.contains(byte)
        }
        return letters && !parts.contains(where: \.isEmpty) && !["right", "posix"].contains(String(parts[0]) ?? "")
            && !["localtime", "posixrules"].contains(text)
    }

    /// The equivalent names that ICU knows for a zone.
    private static func otherNames(of name: String) -> [String] {
        let utf16 = Array(name.utf16)
        var names: [String] = []
        var bytes = [CChar](repeating: 0, count: 128)
        while names.count < 64 {
            let length = fi_zone_other_name(utf16, Int32(utf16.count), Int32(names.count), &bytes, Int32(bytes.count))
            guard length > 0 else { break }
            names.append(String(decoding: bytes.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return names
    }
}
