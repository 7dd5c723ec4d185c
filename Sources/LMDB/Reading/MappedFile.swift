internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB

/// The newest committed state of a data file, mapped into memory and read without LMDB. So the file may have the layout
/// of another LMDB than the linked one.
///
/// LMDB doesn't know of this reader. Once other processes have committed twice after the state, they may overwrite its
/// pages: reading it then throws `LMDBError.overtaken`.
final class MappedFile: Sendable {
    let state: MappedState
    /// The state with pages whose checksums aren't compared.
    private let uncheckedState: MappedState
    let identity: FileIdentity
    /// The named tables, in the order of their names. Their handles are 2 and the following numbers.
    let tables: [(name: String, tree: TreeRecord)]
    // The map isn't written.
    private nonisolated(unsafe) let map: UnsafeRawPointer
    private let byteCount: Int

    var pages: MappedPages { state.pages }

    /// Maps the file. Throws `DataFileError` if it's missing or a meta page has a defect, and `LMDBError.corrupted` if
    /// the main tree can't be read.
    init(inFolder path: String) throws {
        guard let file = try DataFile(inFolder: path) else { throw DataFileError.damaged("its data.mdb is missing") }
        let meta = try Self.newestMeta(of: file)
        identity = try FileIdentity(ofOpen: file.descriptor)
        byteCount = try file.length()
        map = try file.map(byteCount)
        let checked = meta.format.hasChecksums ? CheckedPages(capacity: UInt64(byteCount / meta.pageSize), nil) : nil
        let pages = MappedPages(meta, map, byteCount: byteCount, isPinned: false, checked)
        do { tables = try pages.ignoringChecksums.tables(of: meta) } catch {
            Self.unmap(map, byteCount)
            throw error
        }
        let trees = [meta.freeList, meta.main] + tables.map(\.tree)
        state = MappedState(meta, pages, checked, trees: trees)
        uncheckedState = MappedState(meta, pages.ignoringChecksums, nil, trees: trees)
    }

    deinit { Self.unmap(map, byteCount) }

    /// The state for a read transaction. Throws `LMDBError.wrongChecksum` if the main tree's checksum is compared
    /// and wrong.
    func state(ignoringChecksums: Bool) throws(LMDBError) -> MappedState {
        if ignoringChecksums { return uncheckedState }
        if state.meta.main.depth == 1 { _ = try pages.page(state.meta.main.root, .leaf) }
        return state
    }

    private static func unmap(_ map: UnsafeRawPointer, _ byteCount: Int) {
        munmap(UnsafeMutableRawPointer(mutating: map), byteCount)
    }

    private static let tries = 50
    private static let pauseInMicroseconds: UInt32 = 2000

    /// The meta page of the newest state. Another process may be writing the pages, so they are read again if they have
    /// a defect.
    private static func newestMeta(of file: borrowing DataFile) throws -> MetaPage {
        var attempt = 1
        while true {
            do {
                guard let metas = try MetaPage.both(of: file) else {
                    throw DataFileError.damaged("its data.mdb is cut off: it is shorter than two pages")
                }
                let meta = MetaPage.newest(of: metas)
                guard let defect = MetaPage.defect(of: metas) ?? meta.defect else { return meta }
                throw DataFileError.damaged(defect)
            } catch  where attempt < tries {
                attempt += 1
                usleep(pauseInMicroseconds)
            }
        }
    }

    var information: Environment.Information {
        Environment.Information(
            mapSize: byteCount, pageSize: state.meta.pageSize, usedPages: Int(state.meta.pageCount),
            lastTransaction: Int(state.meta.transaction), readers: 0, maximumReaders: 0)
    }

    /// The named table; nil if it's missing. Throws if its keys are of another kind.
    func table(_ description: TableDescription) throws(LMDBError) -> Table? {
        guard let index = tables.firstIndex(where: { $0.name == description.name }) else { return nil }
        guard tables[index].tree.keys == description.keys else { throw .corrupted }
        return Table(handle: UInt32(index + 2), keys: description.keys)
    }
}

extension DataFile {
    /// Maps the file into memory. mmap
    fileprivate func map(_ byteCount: Int) throws -> UnsafeRawPointer {
        guard let start = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED else {
            throw SystemError.last
        }
        return UnsafeRawPointer(start)
    }
}
