/// The rights that a role needs to follow tables, which are checked before anything is made in the source or the store.
/// PostgreSQL documentation, "Access Privilege Inquiry Functions" and "CREATE PUBLICATION".
struct SourceRights {
    private let connection: Connection
    private let role: String

    init(_ connection: Connection) throws {
        self.connection = connection
        role = try connection.value("SELECT current_user") ?? ""
    }

    /// Throws `SourceError` if the role may not read all rows of the tables or, if a publication is to be made, may not make
    /// it.
    func require(_ tables: [SourceTable], makesPublication: Bool) throws {
        for table in tables { try requireReading(table) }
        guard makesPublication else { return }
        for table in tables { try requireOwner(of: table) }
        let database = try connection.value("SELECT pg_catalog.current_database()") ?? ""
        let mayCreate = try connection.value(
            "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')")
        guard mayCreate != "t" else { return }
        throw SourceError(
            .refused,
            "the role \(role) may not make a publication in the database \(database): "
                + "GRANT CREATE ON DATABASE \(database.quotedName) TO \(role.quotedName)",
            remedy: .namePublication)
    }

    private func requireReading(_ table: SourceTable) throws {
        let (title, quoted) = (table.choice.title, table.choice.quoted)
        let columns = try table.followedColumns().map { "\($0.number)" }.joined(separator: ",")
        let row = try connection.execute(
            """
            SELECT pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE'),
                pg_catalog.has_table_privilege(c.oid, 'SELECT') OR (SELECT pg_catalog.bool_and(pg_catalog.has_column_privilege(
                    c.oid, n.number, 'SELECT')) FROM pg_catalog.unnest($2::int2[]) AS n(number)),
                pg_catalog.row_security_active(c.oid)
            FROM pg_catalog.pg_class c WHERE c.oid = $1::oid
            """, ["\(table.number)", "{\(columns)}"], columns: 3
        ).first
        if row?[0] == "f" {
            let schema = table.choice.schema.quotedName
            throw SourceError(
                .refused,
                "the role \(role) may not use the schema of \(title): GRANT USAGE ON SCHEMA \(schema) TO \(role.quotedName)"
            )
        }
        if row?[1] == "f" {
            throw SourceError(
                .refused, "the role \(role) may not read \(title): GRANT SELECT ON \(quoted) TO \(role.quotedName)")
        }
        if row?[2] == "t" {
            throw SourceError(
                .refused,
                "row security may hide rows of \(title) from the role \(role): ALTER ROLE \(role.quotedName) BYPASSRLS")
        }
    }

    private func requireOwner(of table: SourceTable) throws {
        let owner = try connection.value(
            "SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE') FROM pg_catalog.pg_class c WHERE c.oid = $1::oid",
            ["\(table.number)"])
        guard owner == "f" else { return }
        throw SourceError(
            .refused, "the role \(role) does not own \(table.choice.title), so it may not make a publication of it",
            remedy: .namePublication)
    }
}
