internal import FetchIndexModels
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import FetchIndexLMDB

extension Store {
    /// Throws unless the folder contains something named `data.mdb`, of any file type.
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

    /// Throws if the folder has no `data.mdb`, but files that don't belong to a store: a new store must not share its
    /// folder.
    static func requireOwnFolder(at path: String) throws {
        var status = stat()
        if lstat(path + "/" + StoreFiles.data, &status) == 0 { return }
        for name in Folder.names(in: path) ?? [] where !StoreFiles.mayBe(name) {
            throw StoreError.notAStore(
                path: path, "it is a folder with other files, such as \(name), but a store needs a folder of its own")
        }
    }
}
