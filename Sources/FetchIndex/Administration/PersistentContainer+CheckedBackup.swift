internal import FetchIndexCLibrary
public import FetchIndexEssentials
internal import FetchIndexPlatform

/// The error for a backup in which `checkedBackup` found damage.
public struct DamagedBackup: Error, CustomStringConvertible {
    /// The path of the damaged copy: PATH.damaged, PATH.damaged-2 and so on if that exists, or the backup's own path if
    /// the copy couldn't be renamed.
    public let path: String
    /// The defects, one sentence each.
    public let defects: [String]

    public var description: String {
        let count = defects.count == 1 ? "one defect" : "\(defects.count) defects"
        return "the copy at \(path) is damaged, and the store probably is too: the copy has \(count), "
            + "and the first is: " + (defects.first ?? "")
    }
}

extension PersistentContainer {
    /// Makes a backup like ``backup(to:)``, and checks the copy like ``check(at:progress:)``. A damaged copy is renamed
    /// if possible, for example to PATH.damaged, so that it isn't taken for a backup.
    ///
    /// `copied` is called between the copy and its check. `progress` is called during the check, like that of
    /// `check(at:progress:)`. O(n log n) for the records and for each cache. Throws like `backup(to:)`, and
    /// `DamagedBackup`.
    @discardableResult
    public func checkedBackup(
        to url: URL, copied: () -> Void = {}, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> StoreBackup {
        let backup = try backup(to: url, keepsDamaged: true)
        copied()
        let defects = try Self.defects(ofBackupAt: url, progress: progress)
        if defects.isEmpty { return backup }
        throw DamagedBackup(path: Self.keepApart(url.path), defects: defects)
    }

    private static func defects(
        ofBackupAt url: URL, progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> [String] {
        do { return try check(at: url, progress: progress) } catch  where error.isDamage {
            return ["\(error)"]
        }
    }

    /// Renames a damaged copy. Returns its new path, or its old path if it can't be renamed.
    private static func keepApart(_ path: String) -> String {
        let trimmed = path.count > 1 && path.last == "/" ? String(path.dropLast()) : path
        for number in 1...1000 {
            let apart = trimmed + ".damaged" + (number == 1 ? "" : "-\(number)")
            if access(apart, F_OK) == 0 { continue }
            return rename(trimmed, apart) == 0 ? apart : path
        }
        return path
    }
}
