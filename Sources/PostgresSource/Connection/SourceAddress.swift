internal import CFetchIndexPostgres

/// Checks that addresses have no password, because others may be able to read the store or a program's
/// arguments.
package enum SourceAddress {
    /// Throws `SourceError` for an address that can't be read, or has a password.
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
