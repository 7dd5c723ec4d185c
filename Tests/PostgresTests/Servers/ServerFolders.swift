import Foundation

/// The folders of test servers. Their databases have tens of thousands of files, which some disks need minutes to
/// remove. So the folders are in memory if /dev/shm has 4 GiB free.
enum ServerFolders {
    private static let place: String = {
        var statistics = statvfs()
        guard statvfs("/dev/shm", &statistics) == 0,
            UInt64(statistics.f_bavail) * UInt64(statistics.f_frsize) >= 4 << 30
        else { return NSTemporaryDirectory() }
        return "/dev/shm/"
    }()
    private static let prefix = "fetchindex-postgres-"

    /// Removes the folders of killed test runs, which would otherwise stay in memory.
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
