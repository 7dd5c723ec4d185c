/// One of the two pages at the beginning of a data file. Each describes a state of the environment. A transaction with
/// an even number writes page 0, one with an odd number page 1.
///
///     page header | magic 4 | version 4 | address 8 | map size 8 | free list 48 | main tree 48 | last page 8
///                    | transaction 8 | ... | in page 0 of version 3: length of the pages' checksums 2
struct MetaPage: Equatable {
    static let count: UInt64 = 2
    /// The length of the longest meta page, without the unused rest of the page.
    private static let length = 24 + 136
    /// The offset of the transaction's number behind the header.
    static let transactionOffset = 128
    private static let magic: UInt32 = 0xBEEF_C0DE
    /// The greatest valid transaction number; a greater number is damage. At a thousand transactions per second,
    /// reaching it would take almost 300,000 years.
    private static let lastTransaction: UInt64 = 1 << 53

    private(set) var format: PageFormat
    let freeList: TreeRecord
    let main: TreeRecord
    let lastPage: PageNumber
    let transaction: UInt64

    var layout: PageLayout { format.layout }
    var pageSize: Int { format.pageLength }
    /// The number of the state's pages. Free pages count, even those at the end that were never written to the file.
    var pageCount: UInt64 { lastPage &+ 1 }

    /// Decodes a page. Throws if it isn't a meta page of a known version, or names an invalid page size.
    private init(_ bytes: [UInt8]) throws {
        func number(at offset: Int) -> UInt32 {
            bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
        }
        let found = PageLayout.allCases.first { layout in
            number(at: layout.headerLength) == Self.magic
                && bytes.withUnsafeBytes { Page(bytes: $0, layout: layout).flags } & Page.Kind.meta.rawValue != 0
        }
        guard let found else {
            throw DataFileError.foreign("its data.mdb is not an LMDB file, or its first pages are damaged")
        }
        let version = number(at: found.headerLength + 4)
        guard version == found.rawValue else {
            throw DataFileError.foreign(
                "its data.mdb has data version \(version), which neither LMDB 0.9 nor LMDB 1.0 writes")
        }
        let contents = bytes.span.bytes.extracting(droppingFirst: found.headerLength)
        freeList = TreeRecord(contents.extracting(24..<24 + TreeRecord.length), isFreeList: true)
        main = TreeRecord(contents.extracting(72..<72 + TreeRecord.length))
        lastPage = contents.unsafeLoadUnaligned(fromByteOffset: 120, as: UInt64.self)
        transaction = contents.unsafeLoadUnaligned(fromByteOffset: Self.transactionOffset, as: UInt64.self)
        let pageSize = Int(freeList.pad)
        format = PageFormat(layout: found, pageLength: pageSize)
        guard (512...found.longestPage).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw DataFileError.damaged("its data.mdb has pages of \(pageSize) bytes, which no LMDB file has")
        }
    }

    /// Reads both meta pages. Returns nil if the file is too short.
    static func both(of file: borrowing DataFile) throws -> [MetaPage]? {
        let bytes = try file.bytes(at: 0, count: length)
        guard bytes.count == length else { return nil }
        var first = try MetaPage(bytes)
        let secondBytes = try file.bytes(at: first.pageSize - checksumFieldLength, count: checksumFieldLength + length)
        guard secondBytes.count == checksumFieldLength + length else { return nil }
        var second = try MetaPage(Array(secondBytes.dropFirst(checksumFieldLength)))
        let hasChecksums = try hasChecksums(first.layout, secondBytes.span.bytes.unsafeLoadUnaligned(as: UInt16.self))
        (first.format.hasChecksums, second.format.hasChecksums) = (hasChecksums, hasChecksums)
        let metas = [first, second]
        for (index, meta) in metas.enumerated() where meta.transaction != 0 && meta.transaction & 1 != UInt64(index) {
            throw DataFileError.damaged(
                "page \(index) of its data.mdb has transaction \(meta.transaction), which LMDB writes to the other meta page"
            )
        }
        guard first.layout == second.layout else {
            throw DataFileError.damaged("the first two pages of its data.mdb have different data versions")
        }
        guard first.pageSize == second.pageSize else {
            throw DataFileError.damaged("the first two pages of its data.mdb name different page sizes")
        }
        return metas
    }

    /// The length of the field at the end of page 0 that has the length of the pages' checksums.
    static let checksumFieldLength = 2

    private static func hasChecksums(_ layout: PageLayout, _ length: UInt16) throws -> Bool {
        if layout == .version1 || length == 0 { return false }
        guard Int(length) == PageFormat.checksumLength else {
            throw DataFileError.damaged(
                "its data.mdb has page checksums of \(length) bytes, which FetchIndex never writes")
        }
        return true
    }

    /// The meta page that LMDB takes for the newest one.
    static func newest(of metas: [MetaPage]) -> MetaPage {
        metas[0].transaction < metas[1].transaction ? metas[1] : metas[0]
    }

    /// The defect of the pair of pages; nil if the pair is intact. Each commit writes one page; if that write fails,
    /// LMDB restores the page's transaction number and last page. So the pages have consecutive transaction numbers. In
    /// a new file, both numbers are 0. If the first transaction failed, both numbers are still 0, but the second page
    /// may have that transaction's trees; LMDB then reads the first page. In this case the second page still names page
    /// 1 as the last one, unlike a page whose transaction number is damaged.
    static func defect(of metas: [MetaPage]) -> String? {
        let (first, second) = (metas[0].transaction, metas[1].transaction)
        if max(first, second) - min(first, second) == 1 { return nil }
        if first == 0, second == 0, metas[0].main.root == TreeRecord.noRoot, metas[1].lastPage == Self.count - 1 {
            return nil
        }
        return
            "the first pages of its data.mdb belong to the transactions \(first) and \(second), which do not follow each other"
    }

    /// A defect that `init` doesn't check; nil if none is found. Use it only for the page of the state that is read: a
    /// failed write may have left part of a transaction in the other page.
    var defect: String? {
        guard lastPage >= Self.count - 1, lastPage < UInt64(Int.max / pageSize) else {
            return "its data.mdb has the invalid last page number \(lastPage)"
        }
        if transaction > Self.lastTransaction {
            return "its data.mdb has the invalid transaction number \(transaction)"
        }
        if let defect = freeList.defect(pageCount: pageCount) { return "the free list of its data.mdb \(defect)" }
        if freeList.keys != .integers { return "the free list of its data.mdb has keys that are not numbers" }
        if let defect = main.defect(pageCount: pageCount) { return "the main tree of its data.mdb \(defect)" }
        return main.keys == .bytes ? nil : "the main tree of its data.mdb has keys that are not names"
    }
}
