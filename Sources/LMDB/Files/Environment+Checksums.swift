internal import CFetchIndexLMDB
internal import FetchIndexCLibrary
internal import FetchIndexPlatform

// The checksums of pages that LMDB 1.0 writes, see `PageFormat`.
extension PageFormat {
    /// Whether the linked LMDB can write checksums.
    static let canHaveChecksums = fi_checksums() != nil
}

extension Environment {
    /// Makes LMDB write page checksums. Must be called before the file is opened, and only if its pages have checksums
    /// or it's new. mdb_env_set_checksum
    static func setChecksums(of handle: OpaquePointer) throws(LMDBError) {
        try check(
            fi_set_checksum(
                handle,
                { bytes, checksum, _ in
                    guard let bytes = bytes?.pointee, let checksum = checksum?.pointee.mv_data else { return }
                    let hash = UnsafeRawBufferPointer(start: bytes.mv_data, count: bytes.mv_size).bytes.hash
                    checksum.storeBytes(of: hash, as: UInt64.self)
                }, CUnsignedInt(PageFormat.checksumLength)))
    }

    /// The format of an open file's pages.
    static func format(of handle: OpaquePointer) throws -> PageFormat {
        var stat = MDB_stat()
        try check(mdb_env_stat(handle, &stat))
        var format = PageFormat(layout: .linked, pageLength: Int(stat.ms_psize))
        if format.layout == .version1 { return format }
        let file = try DataFile(ofOpen: descriptor(of: handle))
        let field = try file.bytes(
            at: format.pageLength - MetaPage.checksumFieldLength, count: MetaPage.checksumFieldLength)
        format.hasChecksums = field.contains { $0 != 0 }
        return format
    }

    /// LMDB's descriptor of the data file. mdb_env_get_fd
    static func descriptor(of handle: OpaquePointer?) throws(LMDBError) -> CInt {
        var descriptor: CInt = -1
        try check(mdb_env_get_fd(handle, &descriptor))
        return descriptor
    }

    /// Sets the field of a compact copy that says that its pages have checksums: LMDB 1.0.2 doesn't.
    static func setChecksumField(ofCopy file: CInt, from handle: OpaquePointer) throws {
        let format = try format(of: handle)
        guard format.hasChecksums else { return }
        var length = UInt16(PageFormat.checksumLength)
        let place = off_t(format.pageLength - MetaPage.checksumFieldLength)
        let count = FileSizeLimit.withoutSignal { pwrite(file, &length, MetaPage.checksumFieldLength, place) }
        guard count == MetaPage.checksumFieldLength else { throw LMDBError(rawValue: count < 0 ? errno : EIO) }
    }
}

extension DataFile {
    /// Whether the pages of a file have checksums; nil for a missing or empty file. False for a file that LMDB can't open.
    static func hasChecksums(at path: String) throws -> Bool? {
        guard let file = try DataFile(at: path), try file.length() > 0 else { return nil }
        return (try? MetaPage.both(of: file))?.first?.format.hasChecksums ?? false
    }
}
