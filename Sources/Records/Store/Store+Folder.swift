internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexLMDB

extension Store {
    /// Throws unless there is a `data.mdb`, of any kind.
    static func requireFile(at path: String) throws {
        var status = stat()
        if lstat(path + "/" + StoreFiles.data, &status) == 0 { return }
        let reason = LMDBError(rawValue: errno)
        if access(path, F_OK) == 0 && !reason.isPermission {
            throw StoreError.notAStore(path: path, "it has no data.mdb")
        }
        throw reason.rawValue == ENOENT
            ? StoreError.missing(path: path) : StoreError.inaccessible(path: path, "\(reason)")
    }

    /// Throws when a store would be made in a folder that has other files.
    static func requireOwnFolder(at path: String) throws {
        var status = stat()
        if lstat(path + "/" + StoreFiles.data, &status) == 0 { return }
        for name in Folder.names(in: path) ?? [] where !StoreFiles.mayBe(name) {
            throw StoreError.notAStore(
                path: path, "it is a folder with other files, as \(name), and a store needs one of its own")
        }
    }
}
