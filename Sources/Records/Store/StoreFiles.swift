/// The names of the files in a store's folder.
package enum StoreFiles {
    /// LMDB's file.
    static let data = "data.mdb"
    /// LMDB's reader table and its writer's lock.
    static let lock = "lock.mdb"
    /// The lock that a writer holds in addition to LMDB's, so that others can see whether a writer is busy.
    static let writerLock = "writer.lock"
    /// The lock of a build of a cache that is written in several transactions.
    static let buildLock = "build.lock"
    /// The lock of the process that follows a source.
    package static let followLock = "follow.lock"
    /// The last report of the process that follows a source.
    package static let sourceStatus = "source.status"
    /// Statistics on openings of caches.
    static let statistics = "statistics"
    /// The former name of `statistics`.
    private static let formerStatistics = "hits"

    /// The files that a store creates in addition to LMDB's.
    static let beside = [writerLock, buildLock, followLock, statistics, sourceStatus]

    /// Whether a folder with a file of this name may become a store. These are a store's own files, names that begin
    /// like the data file's, and files that file systems leave or file managers hide.
    static func mayBe(_ name: String) -> Bool {
        name == lock || beside.contains(name) || name == formerStatistics || name == "lost+found"
            || name.hasPrefix(data) || name.hasPrefix(".")
    }
}
