internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// The error for a backup in which the check found damage.
package struct DamagedBackup: Error, CustomStringConvertible {
    /// The path of the damaged copy: PATH.damaged, or the backup's path if the copy can't be renamed.
    let path: String
    let defects: [String]

    package var description: String {
        let count = defects.count == 1 ? "one defect" : "\(defects.count) defects"
        return "the copy is damaged, as the store is, and kept apart in \(path): it has \(count), and the first is: "
            + (defects.first ?? "")
    }
}

extension PersistentContainer {
    /// Makes a backup as `backup(to:)` does, and checks the copy as `check(at:progress:)` does. A damaged copy is
    /// renamed to PATH.damaged, so that it isn't used as a backup. `copied` is called between copy and check. O(n log
    /// n). Throws the errors of `backup(to:)`, and `DamagedBackup`.
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
