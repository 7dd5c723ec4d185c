internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// A backup in which its check found damage.
package struct DamagedBackup: Error, CustomStringConvertible {
    /// The path of the copy: a new one, or the backup's if the copy can't be renamed.
    let path: String
    let defects: [String]

    package var description: String {
        let count = defects.count == 1 ? "one defect" : "\(defects.count) defects"
        return "the copy is damaged, like the store, and was moved to \(path): it has \(count), and the first is: "
            + (defects.first ?? "")
    }
}

extension PersistentContainer {
    /// Makes a backup like `backup(to:)`, and checks the copy like `check(at:progress:)`. A damaged copy is renamed to
    /// PATH.damaged, so that it isn't taken for a backup. `copied` is called before the check. O(n log n). Throws like
    /// `backup(to:)`, and `DamagedBackup`.
    package func checkedBackup(
        to path: String, copied: () -> Void, progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> StoreBackup {
        let backup = try backup(to: URL(fileURLWithPath: path), keepsDamaged: true)
        copied()
        let defects = try Self.defects(ofBackupAt: path, progress: progress)
        if defects.isEmpty { return backup }
        throw DamagedBackup(path: Self.keepApart(path), defects: defects)
    }

    private static func defects(
        ofBackupAt path: String, progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> [String] {
        do { return try check(at: URL(fileURLWithPath: path), progress: progress) } catch  where error.isDamage {
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
