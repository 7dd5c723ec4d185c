internal import FetchIndexLMDB

/// The names of the files in a store's folder.
package enum StoreFiles {
    /// LMDB's data file. `partial` and `making` are of new data files, and data.mdb.before is an old one.
    package static let data = EnvironmentFiles.data
    /// A data file that is being copied, or made in the store's folder.
    package static let partial = data + ".partial"
    /// The folder in which an upgrade makes a data file.
    package static let making = EnvironmentFiles.making
    /// LMDB's lock file, with its reader table and its writer's lock.
    static let lock = EnvironmentFiles.lock
    /// The lock that a writer holds in addition to LMDB's, so that other processes can see whether a writer is busy.
    static let writerLock = "writer.lock"
    /// The lock that a process holds while it builds a cache in several transactions.
    static let buildLock = "build.lock"
    /// The lock of the process that follows a source.
    package static let followLock = "follow.lock"
    /// The last report about a followed source. The names of further sources' files begin with this one and a dot.
    package static let sourceStatus = "source.status"
    /// The statistics of cache openings.
    static let statistics = "statistics"
    /// The former name of `statistics`.
    private static let formerStatistics = "hits"

    /// The store's files beside LMDB's.
    static let beside = [writerLock, buildLock, followLock, statistics, sourceStatus]

    /// Whether a folder that contains a file of this name may become a store. True for a store's own files, for names
    /// that begin with the data file's name, a report's name or a dot, and for `lost+found`.
    static func mayBe(_ name: String) -> Bool {
        name == lock || beside.contains(name) || name == formerStatistics || name == "lost+found"
            || name.hasPrefix(data) || name.hasPrefix(sourceStatus) || name.hasPrefix(".")
    }
}
