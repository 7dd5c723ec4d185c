import Foundation

/// The folder for the files of test servers. A hundred databases are 40,000 files, which some disks need minutes to
/// remove. They are kept in memory if the system offers enough memory as a folder.
enum ServerFolders {
    private static let place: String = {
        var statistics = statvfs()
        guard statvfs("/dev/shm", &statistics) == 0,
            UInt64(statistics.f_bavail) * UInt64(statistics.f_frsize) >= 4 << 30
        else { return NSTemporaryDirectory() }
        return "/dev/shm/"
    }()
    private static let prefix = "fetchindex-postgres-"

    /// Removes folders of killed test runs, which would take memory until then.
    private static let abandoned: Void = {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? [] where name.hasPrefix(prefix) {
            guard let owner = name.dropFirst(prefix.count).split(separator: "-").first.flatMap({ pid_t($0) }),
                kill(owner, 0) != 0, errno == ESRCH
            else { continue }
            try? FileManager.default.removeItem(atPath: place + name)
        }
    }()

    static func new() -> String {
        _ = abandoned
        return place + prefix + "\(getpid())-\(UUID().uuidString)"
    }
}
