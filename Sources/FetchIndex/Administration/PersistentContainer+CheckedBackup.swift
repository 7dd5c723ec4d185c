internal import FetchIndexPlatform

/// A copy of a store that its own check calls damaged.
package struct DamagedBackup: Error, CustomStringConvertible {
    /// Where it is kept: not where a backup was asked for, unless it cannot be moved.
    let path: String
    let defects: [String]

    package var description: String {
        let count = defects.count == 1 ? "one defect" : "\(defects.count) defects"
        return "the copy is damaged, as the store is, and kept apart in \(path): it has \(count), and the first is: "
            + (defects.first ?? "")
    }
}

extension PersistentContainer {
    /// As `backup(to:)`, and checks the copy as `check` does. A damaged copy is renamed, PATH.damaged, so that it is not taken for a
    /// backup. O(n log n). Throws as `backup(to:)`, and `DamagedBackup`.
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

    /// Renames a damaged copy. Returns its new path, or the old one if that cannot be done.
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
