/// One of the two pages that a data file begins with: where a committed state of the environment is found. A
/// transaction writes the page that its number's lowest bit names.
///
///     page header 16 | magic 4 | version 4 | address 8 | map size 8 | free list 48 | main tree 48 | last page 8
///                    | transaction 8
struct MetaPage: Equatable {
    static let count: UInt64 = 2
    static let length = 152
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let version: UInt32 = 1
    private static let flag: UInt16 = 0x08
    private static let pageSizes = 512...32768
    /// A thousand transactions per second for 300,000 years; greater numbers are treated as damage.
    private static let lastTransaction: UInt64 = 1 << 53

    let freeList: TreeRecord
    let main: TreeRecord
    let lastPage: PageNumber
    let transaction: UInt64

    var pageSize: Int { Int(freeList.pad) }
    /// Pages of the state, free ones and those that the file lost included.
    var pageCount: UInt64 { lastPage &+ 1 }

    /// Throws when LMDB could not read the page, or would read invalid data.
    private init(_ bytes: [UInt8]) throws {
        let span = bytes.span.bytes
        guard span.unsafeLoadUnaligned(fromByteOffset: 10, as: UInt16.self) & Self.flag != 0,
            span.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt32.self) == Self.magic
        else { throw DataFileError.foreign("its data.mdb is not an LMDB file, or its first pages are damaged") }
        guard span.unsafeLoadUnaligned(fromByteOffset: 20, as: UInt32.self) == Self.version else {
            throw DataFileError.foreign("its data.mdb was written by another version of LMDB")
        }
        freeList = TreeRecord(span.extracting(40..<40 + TreeRecord.length), isFreeList: true)
        main = TreeRecord(span.extracting(88..<88 + TreeRecord.length))
        lastPage = span.unsafeLoadUnaligned(fromByteOffset: 136, as: UInt64.self)
        transaction = span.unsafeLoadUnaligned(fromByteOffset: 144, as: UInt64.self)
        guard Self.pageSizes.contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw DataFileError.damaged("its data.mdb has pages of \(pageSize) bytes, which no LMDB file has")
        }
    }

    /// Both meta pages; nil when the file is too short for them. LMDB opens no file that lacks one of them.
    static func both(of file: borrowing DataFile) throws -> [MetaPage]? {
        let bytes = try file.bytes(at: 0, count: length)
        guard bytes.count == length else { return nil }
        let first = try MetaPage(bytes)
        let secondBytes = try file.bytes(at: first.pageSize, count: length)
        guard secondBytes.count == length else { return nil }
        let second = try MetaPage(secondBytes)
        let metas = [first, second]
        for (index, meta) in metas.enumerated() where meta.transaction != 0 && meta.transaction & 1 != UInt64(index) {
            throw DataFileError.damaged("page \(index) of its data.mdb belongs to transaction \(meta.transaction)")
        }
        guard first.pageSize == second.pageSize else {
            throw DataFileError.damaged("the first pages of its data.mdb do not agree on the size of a page")
        }
        return metas
    }

    /// The one that LMDB takes for the newest.
    static func newest(of metas: [MetaPage]) -> MetaPage {
        metas[0].transaction < metas[1].transaction ? metas[1] : metas[0]
    }

    /// What is wrong with the two pages beside each other; nil when nothing is. Each transaction writes one of them, so
    /// their numbers follow each other, whether or not a write failed. A new file has 0 twice; so has one whose first
    /// transaction failed, which may have left its trees in the second page: LMDB reads the first then. The number of the
    /// last page tells it from a page with a damaged transaction number.
    static func defect(of metas: [MetaPage]) -> String? {
        let (first, second) = (metas[0].transaction, metas[1].transaction)
        if max(first, second) - min(first, second) == 1 { return nil }
        if first == 0, second == 0, metas[0].main.root == TreeRecord.noRoot, metas[1].lastPage == Self.count - 1 {
            return nil
        }
        return
            "the first pages of its data.mdb belong to the transactions \(first) and \(second), which do not follow each other"
    }

    /// A defect that `init` does not check; nil when there is none. LMDB reads nothing else of the older page, and a write that failed may have left half of its transaction there.
    var defect: String? {
        guard lastPage >= Self.count - 1, lastPage < UInt64(Int.max / pageSize) else {
            return "its data.mdb has the last page \(lastPage)"
        }
        if transaction > Self.lastTransaction { return "its data.mdb belongs to transaction \(transaction)" }
        if let defect = freeList.defect(pageCount: pageCount) { return "the free list of its data.mdb \(defect)" }
        if freeList.keys != .integers { return "the free list of its data.mdb has keys that are not numbers" }
        if let defect = main.defect(pageCount: pageCount) { return "the main tree of its data.mdb \(defect)" }
        return main.keys == .bytes ? nil : "the main tree of its data.mdb has keys that are not names"
    }
}
