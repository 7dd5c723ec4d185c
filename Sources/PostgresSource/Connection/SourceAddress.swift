internal import CFetchIndexPostgres
internal import FetchIndexPlatform

/// An address without its password, which is refused: arguments and the store are read by others.
package enum SourceAddress {
    /// Throws `SourceError` when an address cannot be read, or holds a password.
    package static func check(_ address: String) throws {
        var reason: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(address, &reason) else {
            // libpq's reason may repeat a password.
            PQfreemem(reason)
            throw SourceError(
                .usage, "the source's address cannot be read; it has the form postgres://user@host:port/database")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while option.pointee.keyword != nil {
            let isSecret = option.pointee.dispchar.map { String(cString: $0) == "*" } ?? false
            if isSecret, let value = option.pointee.val, value.pointee != 0 {
                throw SourceError(
                    .usage,
                    "the source's address has a password, which others could read: put it into ~/.pgpass, or into PGPASSWORD"
                )
            }
            option += 1
        }
    }
}
