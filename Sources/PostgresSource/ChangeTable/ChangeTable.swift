internal import Records

/// The change table: triggers in the source note the keys of rows that change, with the transactions that change them. Any number of
/// followers read it, each from where it is, and need no slot.
///
/// A follower's position is a snapshot of the source, as `pg_current_snapshot` writes it: which transactions it has seen. What other
/// transactions have noted by the next snapshot is read with the rows as they are in that one, so that the store equals it. There is no
/// gap, in whatever order transactions commit. PostgreSQL documentation, 9.27.12 "Transaction ID and Snapshot Information Functions".
enum ChangeTable {
    static let channel = "fetchindex"
    private static let trigger = "fetchindex_note"

    // MARK: Setup

    /// The SQL that makes it, and the triggers of tables, and can be run again.
    static func setup(for tables: [SourceTable]) -> String {
        log + tables.map { triggers(of: $0) }.joined() + end
    }

    private static let log = """
        -- FetchIndex: a table that notes which rows have changed, for any number of followers.
        -- Run this as the owner of the tables. It can be run again.
        BEGIN;
        SET LOCAL client_min_messages = warning;
        CREATE SCHEMA IF NOT EXISTS fetchindex;
        CREATE TABLE IF NOT EXISTS fetchindex.log (
            identifier uuid NOT NULL DEFAULT gen_random_uuid(),
            trimmed xid8 NOT NULL DEFAULT '0',  -- the last transaction of which changes were deleted
            single boolean PRIMARY KEY DEFAULT true CHECK (single)
        );
        INSERT INTO fetchindex.log DEFAULT VALUES ON CONFLICT DO NOTHING;
        CREATE TABLE IF NOT EXISTS fetchindex.changes (
            transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
            relation oid NOT NULL,
            key text,  -- of the row; null: the table was emptied
            at timestamptz NOT NULL DEFAULT now()
        );
        CREATE INDEX IF NOT EXISTS changes_transaction ON fetchindex.changes (transaction);

        -- Wakes followers. They look by themselves once a second, too.
        CREATE OR REPLACE FUNCTION fetchindex.wake() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify('fetchindex', '');
            RETURN NULL;
        END $$;
        CREATE OR REPLACE FUNCTION fetchindex.note_all() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
        BEGIN
            INSERT INTO fetchindex.changes (relation) VALUES (TG_RELID);
            PERFORM pg_notify('fetchindex', '');
            RETURN NULL;
        END $$;

        -- The job that keeps it small: SELECT fetchindex.trim('7 days'), each night. A follower that was away for longer copies its tables again.
        CREATE OR REPLACE FUNCTION fetchindex.trim(age interval) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
        DECLARE
            boundary xid8 := pg_snapshot_xmin(pg_current_snapshot());
            kept xid8;
            last xid8;
            count bigint;
        BEGIN
            PERFORM 1 FROM fetchindex.log FOR UPDATE;
            SELECT c.transaction INTO kept FROM fetchindex.changes c WHERE c.at >= now() - age ORDER BY c.transaction LIMIT 1;
            IF kept < boundary THEN boundary := kept; END IF;
            SELECT c.transaction INTO last FROM fetchindex.changes c WHERE c.transaction < boundary ORDER BY c.transaction DESC LIMIT 1;
            UPDATE fetchindex.log SET trimmed = last WHERE trimmed < last;
            DELETE FROM fetchindex.changes c WHERE c.transaction < boundary;
            GET DIAGNOSTICS count = ROW_COUNT;
            RETURN count;
        END $$;

        """

    /// A key is noted as COPY writes it, in a form that no session's settings change. Triggers fire also for what a subscription applies.
    private static func triggers(of table: SourceTable) -> String {
        let function = "fetchindex.note_\(table.number)"
        let (name, key) = (table.choice.quoted, table.key.name.quotedName)
        return """

            -- \(table.choice.title), by \(table.key.name). Who renames that column runs this again in the same transaction.
            CREATE OR REPLACE FUNCTION \(function)() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET datestyle = 'ISO' SET timezone = 'UTC' SET intervalstyle = 'postgres' SET extra_float_digits = 3 SET bytea_output = 'hex' AS $$
            BEGIN
                IF TG_OP <> 'INSERT' THEN
                    INSERT INTO fetchindex.changes (relation, key) VALUES (TG_RELID, format('%s', OLD.\(key)));
                END IF;
                IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND format('%s', NEW.\(key)) <> format('%s', OLD.\(key)) THEN
                    INSERT INTO fetchindex.changes (relation, key) VALUES (TG_RELID, format('%s', NEW.\(key)));
                END IF;
                RETURN NULL;
            END $$;
            DROP TRIGGER IF EXISTS \(trigger) ON \(name);
            DROP TRIGGER IF EXISTS \(trigger)_all ON \(name);
            DROP TRIGGER IF EXISTS \(trigger)_wake ON \(name);
            CREATE TRIGGER \(trigger) AFTER INSERT OR UPDATE OR DELETE ON \(name) FOR EACH ROW EXECUTE FUNCTION \(function)();
            CREATE TRIGGER \(trigger)_all AFTER TRUNCATE ON \(name) FOR EACH STATEMENT EXECUTE FUNCTION fetchindex.note_all();
            CREATE TRIGGER \(trigger)_wake AFTER INSERT OR UPDATE OR DELETE ON \(name) FOR EACH STATEMENT EXECUTE FUNCTION fetchindex.wake();
            ALTER TABLE \(name) ENABLE ALWAYS TRIGGER \(trigger);
            ALTER TABLE \(name) ENABLE ALWAYS TRIGGER \(trigger)_all;

            """
    }

    private static let end = """

        COMMIT;
        -- What a follower's role needs, beside SELECT on the tables:
        -- GRANT USAGE ON SCHEMA fetchindex TO …; GRANT SELECT ON fetchindex.log, fetchindex.changes TO …;

        """

    // MARK: The catalogue

    /// What tells it from others. Throws `SourceError` where there is none.
    static func identifier(_ connection: Connection) throws -> String {
        if try connection.value("SELECT pg_catalog.pg_is_in_recovery()") == "t" {
            throw SourceError(
                .refused,
                "the source is a standby, whose snapshots do not tell all transactions: follow the primary server")
        }
        guard try connection.value("SELECT pg_catalog.to_regclass('fetchindex.log')") != nil else { throw missing("") }
        guard let identifier = try connection.value("SELECT identifier FROM fetchindex.log") else { throw missing("") }
        return identifier
    }

    private static func missing(_ table: String) -> SourceError {
        SourceError(
            .refused,
            "the source notes no changes\(table): `fetchindex follow … --print-setup` prints the SQL that makes the change table and its "
                + "triggers")
    }

    /// The numbers of the triggers and their functions, and of the transactions that wrote them: rows that changed while they were others
    /// may not be noted. Throws `SourceError` where a table has none.
    static func mark(of tables: [FollowedSource.Table], _ connection: Connection) throws -> String {
        try tables.map { table in
            let mark = try connection.value(
                """
                SELECT pg_catalog.string_agg(t.oid || '/' || t.xmin || ' ' || p.oid || '/' || p.xmin, ' ' ORDER BY t.tgname)
                FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
                WHERE t.tgrelid = $1::oid AND t.tgenabled = 'A' AND t.tgname IN ('\(trigger)', '\(trigger)_all')
                HAVING pg_catalog.count(*) = 2
                """, ["\(table.number)"])
            guard let mark else { throw missing(" of \(table.title)") }
            return mark
        }.joined(separator: " ")
    }
}
