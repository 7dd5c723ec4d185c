extension SourceTable {
    /// What the source's catalogue says of a table itself.
    struct CatalogueEntry {
        /// The number (OID) of the table.
        let number: String
        private let kind: String?
        /// The replica identity: which values of old rows the source sends.
        let identity: String?
        private let persistence: String?
        private let hasHeirs: Bool
        let file: UInt32
        let width: Int
        /// The first foreign table among the partitions.
        private let foreignPartition: String?

        var isPartitioned: Bool { kind == "p" }
        var sendsWholeRows: Bool { identity == "f" }

        /// Throws `SourceError` if the table is missing.
        init(of choice: TableChoice, _ connection: Connection) throws {
            let found = try connection.execute(
                """
                SELECT c.oid, c.relkind, c.relreplident, c.relpersistence,
                    EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid),
                    CASE WHEN c.relkind = 'p' THEN (
                        SELECT pg_catalog.hashtext(pg_catalog.string_agg(
                            i.inhrelid || '/' || i.xmin || '/' || coalesce(pg_catalog.pg_relation_filenode(p.relid), 0), ' '
                            ORDER BY i.inhrelid))::bigint & 4294967295
                        FROM pg_catalog.pg_partition_tree(c.oid) p JOIN pg_catalog.pg_inherits i ON i.inhrelid = p.relid)
                    ELSE pg_catalog.pg_relation_filenode(c.oid) END, c.relnatts,
                    CASE WHEN c.relkind IN ('f', 'p') THEN (SELECT p.relid::regclass FROM pg_catalog.pg_partition_tree(c.oid) p
                        JOIN pg_catalog.pg_class f ON f.oid = p.relid WHERE f.relkind = 'f' ORDER BY p.relid::oid LIMIT 1) END
                FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = $2
                """, [choice.schema, choice.name], columns: 8)
            guard let row = found.first, let number = row[0] else {
                throw SourceError(.refused, "the source has no table \(choice.title)")
            }
            self.number = number
            (kind, identity, persistence, hasHeirs) = (row[1], row[2], row[3], row[4] == "t")
            file = row[5].flatMap { UInt32($0) } ?? 0
            width = row[6].flatMap { Int($0) } ?? 0
            foreignPartition = row[7]
        }

        /// Checks that changes of the table's rows can be noticed. Otherwise throws `SourceError`.
        func requireFollowable(_ title: String, _ way: FollowedSource.Way) throws {
            if let foreign = kind == "f" ? title : foreignPartition {
                throw SourceError(
                    .refused,
                    "\(foreign) is a foreign table, whose rows change on another server: follow the table there, as a source of its own"
                )
            }
            if isPartitioned, way == .changeTable {
                throw SourceError(
                    .refused,
                    "\(title) is partitioned, and the change table's triggers do not note attached and emptied partitions: follow its "
                        + "partitions, or the source's log")
            }
            if !isPartitioned, hasHeirs {
                throw SourceError(
                    .refused,
                    "other tables inherit from \(title), so it also shows their rows: follow those tables instead")
            }
            guard isPartitioned || kind == "r" else {
                throw SourceError(.refused, "\(title) is not a table, so its changes cannot be followed")
            }
            guard persistence == "p" else {
                let reason =
                    way == .stream
                    ? "its changes are not in the source's log" : "a crash empties it, and no trigger notes that"
                throw SourceError(.refused, "\(title) is a temporary or unlogged table: \(reason)")
            }
        }
    }
}
