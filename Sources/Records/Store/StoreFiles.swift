internal import FetchIndexPlatform

/// The files of a store's folder. The one place that names them, beside LMDB, which gives its own two their names.
package enum StoreFiles {
    /// LMDB's file.
    static let data = "data.mdb"
    /// LMDB's table of readers, and its writer's lock.
    static let lock = "lock.mdb"
    /// The lock that a writer holds beside LMDB's own, so that another one can ask whether a writer is busy.
    static let writerLock = "writer.lock"
    /// The lock of a build of a cache that is written in several transactions.
    static let buildLock = "build.lock"
    /// The lock of the process that follows a source.
    package static let followLock = "follow.lock"
    /// What the process that follows a source tells others.
    package static let sourceStatus = "source.status"
    /// What the openings of caches were.
    static let statistics = "statistics"
    /// The former name of `statistics`.
    private static let formerStatistics = "hits"

    /// The files that a store makes beside those of LMDB.
    static let beside = [writerLock, buildLock, followLock, statistics, sourceStatus]

    /// Whether a folder that has a file of this name may become a store. Beside a store's own names, and those that begin as the data file
    /// does, these are what file systems leave and what file managers hide.
    static func mayBe(_ name: String) -> Bool {
        name == lock || beside.contains(name) || name == formerStatistics || name == "lost+found"
            || name.hasPrefix(data) || name.hasPrefix(".")
    }
}
