internal import FetchIndexCLibrary
public import FetchIndexEssentials
internal import FetchIndexPlatform

/// The error for a backup in which the check found damage.
public struct DamagedBackup: Error, CustomStringConvertible {
    /// The path of the damaged copy: PATH.damaged, or the backup's path if the copy can't be renamed.
    public let path: String
    /// The defects, one sentence each.
    public let defects: [String]

    public var description: String {
        let count = defects.count == 1 ? "one defect" : "\(defects.count) defects"
        return "the copy is damaged, like the store, and was moved to \(path): it has \(count), and the first is: "
            + (defects.first ?? "")
    }
}

extension PersistentContainer {
    /// Makes a backup like ``backup(to:)``, and checks the copy like ``check(at:progress:)``. A damaged copy is renamed to
    /// PATH.damaged, so that it isn't taken for a backup.
    ///
    /// `copied` is called before the check, and `progress` during the check, with the number of records read so far and
    /// of all records. O(n log n). Throws like `backup(to:)`, and `DamagedBackup`.
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

    /// Renames a damaged copy. Returns its new path, or the old one if it can't be renamed.
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
