/// The change table: triggers in the source note the keys of changed rows, with the numbers of the transactions that
/// change them. Any number of followers may read the table, each from its own position and without a slot.
///
/// A follower's position is a snapshot of the source, in the form of `pg_current_snapshot`: it tells which transactions
/// the store has. Each time it reads the table, the follower takes a new snapshot, finds the keys that were noted by
/// transactions that the new snapshot shows and the old one doesn't, and writes the keys' rows as they are in the new
/// snapshot. If all tables are copied, and the triggers have noted each change, the followed rows then equal those of
/// the new snapshot, in whatever order transactions commit.
/// PostgreSQL documentation, "Transaction ID and Snapshot Information Functions".
enum ChangeTable {
    static let channel = "fetchindex"
    private static let trigger = "fetchindex_note"
    /// The maximum length of the names of a key's columns in bytes, with commas: PostgreSQL's limit of 63 less the prefix of
    /// the function's name.
    private static let longestKey = 56

    // MARK: Setup

    /// Returns the SQL that creates the change table and the triggers of tables. If the SQL is run again, a table's two
    /// triggers stay if both are correct. Throws `SourceError`.
    static func setup(for tables: [SourceTable]) throws -> String {
        try log + tables.map { try triggers(of: $0) }.joined() + end + tables.map { wake(for: $0) }.joined()
    }

    private static let log = """
        -- FetchIndex: a table that notes which rows have changed, for any number of followers.
        -- Run this as the owner of the tables. It can be run again, for the same tables or others.
        BEGIN;
        SET LOCAL client_min_messages = warning;
        CREATE SCHEMA IF NOT EXISTS fetchindex;
        CREATE TABLE IF NOT EXISTS fetchindex.log (
            identifier uuid NOT NULL DEFAULT gen_random_uuid(),
            trimmed xid8 NOT NULL DEFAULT '0',  -- the last transaction whose changes were deleted
            single boolean PRIMARY KEY DEFAULT true CHECK (single)
        );
        INSERT INTO fetchindex.log DEFAULT VALUES ON CONFLICT DO NOTHING;
        UPDATE fetchindex.log SET trimmed = '0' WHERE trimmed >= pg_snapshot_xmax(pg_current_snapshot());  -- the number came from another server
        CREATE TABLE IF NOT EXISTS fetchindex.changes (
            transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
            relation oid NOT NULL,
            key text,  -- the row's key; null if the table was emptied
            at timestamptz NOT NULL DEFAULT now()
        );
        CREATE INDEX IF NOT EXISTS changes_transaction ON fetchindex.changes (transaction);
        CREATE OR REPLACE FUNCTION fetchindex.note_all() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $fetchindex$
        BEGIN
            INSERT INTO fetchindex.changes (relation) VALUES (TG_RELID);
            RETURN NULL;
        END $fetchindex$;
        CREATE OR REPLACE FUNCTION fetchindex.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fetchindex$
        BEGIN
            RAISE 'followers would miss changes: use fetchindex.trim';
        END $fetchindex$;
        DROP TRIGGER IF EXISTS refuse ON fetchindex.changes;
        CREATE TRIGGER refuse BEFORE TRUNCATE ON fetchindex.changes FOR EACH STATEMENT EXECUTE FUNCTION fetchindex.refuse();

        -- To keep the change table small, run SELECT fetchindex.trim('7 days') each night. A follower that lacks changes that were deleted must copy its tables again.
        -- Entries with higher transaction numbers than this server has assigned came from another server, with a dump; they are deleted too.
        CREATE OR REPLACE FUNCTION fetchindex.trim(age interval) RETURNS bigint STRICT LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $fetchindex$
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
            UPDATE fetchindex.log SET trimmed = '0' WHERE trimmed >= pg_snapshot_xmax(pg_current_snapshot());
            UPDATE fetchindex.log SET trimmed = last WHERE trimmed < last;
            DELETE FROM fetchindex.changes c
            WHERE c.transaction < boundary
                OR c.transaction >= pg_snapshot_xmax(pg_current_snapshot()) AND c.transaction <> pg_current_xact_id();
            GET DIAGNOSTICS count = ROW_COUNT;
            RETURN count;
        END $fetchindex$;

        """

    /// Returns the SQL for the triggers of a table. The triggers note a key as text, in a form that doesn't depend on
    /// the session's settings. They also fire for changes that a subscription applies. If both triggers are correct,
    /// they aren't created again, so that followers don't take them for others.
    private static func triggers(of table: SourceTable) throws -> String {
        let names = table.key.map(\.name)
        let column = names.joined(separator: ",")
        guard column.utf8.count <= longestKey, !(table.choice.quoted + column).contains("$fetchindex$") else {
            throw SourceError(
                .refused,
                "\(table.choice.title).\(column) has a name that the change table cannot use", remedy: .chooseKey)
        }
        // A function for several columns has another name than one for a column with commas in its name.
        let function = "fetchindex.\("note\(names.count == 1 ? "" : "\(names.count)")_\(column)".quotedName)"
        let name = table.choice.quoted
        return """

            -- \(table.choice.title.visibleLine), by \(column.visibleLine). To rename that column or change its type, run this again in the same transaction.
            \(noteKey(names, in: function))
            DO $fetchindex$
            BEGIN
                IF (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = \(name.quotedText)::regclass AND t.tgenabled = 'A'
                    AND (t.tgname = '\(trigger)' AND t.tgargs = convert_to(\(column.quotedText), 'UTF8') || decode('00', 'hex')
                        AND t.tgfoid = \("\(function)()".quotedText)::regprocedure OR t.tgname = '\(trigger)_all')) < 2
                THEN
                    DROP TRIGGER IF EXISTS \(trigger) ON \(name);
                    DROP TRIGGER IF EXISTS \(trigger)_all ON \(name);
                    CREATE TRIGGER \(trigger) AFTER INSERT OR UPDATE OR DELETE ON \(name) FOR EACH ROW EXECUTE FUNCTION \(function)(\(column.quotedText));
                    CREATE TRIGGER \(trigger)_all AFTER TRUNCATE ON \(name) FOR EACH STATEMENT EXECUTE FUNCTION fetchindex.note_all();
                    ALTER TABLE \(name) ENABLE ALWAYS TRIGGER \(trigger);
                    ALTER TABLE \(name) ENABLE ALWAYS TRIGGER \(trigger)_all;
                END IF;
            END $fetchindex$;

            """
    }

    /// Returns the SQL for a trigger's function, which notes the old key of a row, if any, and the new key if it's
    /// another one. A key of several columns is noted as an array of texts.
    private static func noteKey(_ key: [String], in function: String) -> String {
        func text(_ row: String) -> String {
            let texts = key.map { "format('%s', \(row).\($0.quotedName))" }
            return texts.count == 1 ? texts[0] : "ARRAY[\(texts.joined(separator: ", "))]::text"
        }
        return """
            CREATE OR REPLACE FUNCTION \(function)() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
            SET search_path = '' SET datestyle = 'ISO' SET timezone = 'UTC' SET intervalstyle = 'postgres' SET extra_float_digits = 3
            SET bytea_output = 'hex' SET lc_monetary = 'C' AS $fetchindex$
            BEGIN
                IF TG_OP <> 'INSERT' THEN
                    INSERT INTO fetchindex.changes (relation, key) VALUES (TG_RELID, \(text("OLD")));
                END IF;
                IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND \(text("NEW")) <> \(text("OLD")) THEN
                    INSERT INTO fetchindex.changes (relation, key) VALUES (TG_RELID, \(text("NEW")));
                END IF;
                RETURN NULL;
            END $fetchindex$;
            """
    }

    private static let end = """

        REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fetchindex FROM PUBLIC;
        COMMIT;

        -- A follower's role needs SELECT on the whole tables, and:
        -- GRANT USAGE ON SCHEMA fetchindex TO …; GRANT SELECT ON fetchindex.log, fetchindex.changes TO …;

        -- A follower that has caught up looks up to 20 times a second. NOTIFY would wake it immediately, but transactions that notify commit one after another, and
        -- cannot be prepared (PREPARE TRANSACTION). If that does not matter:
        -- CREATE FUNCTION fetchindex.wake() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS
        --     'BEGIN PERFORM pg_notify(''fetchindex'', ''''); RETURN NULL; END';

        """

    private static func wake(for table: SourceTable) -> String {
        """
        -- CREATE TRIGGER fetchindex_wake AFTER INSERT OR UPDATE OR DELETE ON \(table.choice.quoted.visibleLine) FOR EACH STATEMENT EXECUTE FUNCTION fetchindex.wake();

        """
    }

    // MARK: The catalogue

    /// Returns the identifier of the source's change table. Throws `SourceError` if the table is missing or the role
    /// may not read it, and if the source is a standby.
    static func identifier(_ connection: Connection) throws -> String {
        if try connection.value("SELECT pg_catalog.pg_is_in_recovery()") == "t" {
            throw SourceError(
                .refused,
                "the source is a standby, whose snapshots do not show all transactions: follow the primary server")
        }
        do {
            guard try connection.value("SELECT pg_catalog.to_regclass('fetchindex.log')") != nil,
                let identifier = try connection.value(
                    "SELECT l.identifier FROM fetchindex.log l LEFT JOIN fetchindex.changes c ON false")
            else { throw missing("") }
            return identifier
        } catch let error as SourceError where error.code == "42501" {
            throw SourceError(
                .refused,
                "\(error): GRANT USAGE ON SCHEMA fetchindex TO …; GRANT SELECT ON fetchindex.log, fetchindex.changes TO …"
            )
        }
    }

    private static func missing(_ table: String) -> SourceError {
        SourceError(
            .refused,
            "the source does not note all changes\(table)", remedy: .makeChangeTable)
    }

    /// Returns a text that changes if a trigger is altered, if its function gets another body or other settings, if the
    /// database is replaced by a restored dump, or if a standby takes over (it may lack transactions that a follower
    /// has seen). If a later text differs, changes of rows may have been missed. Throws `SourceError` if a table has no
    /// enabled triggers for its key.
    static func mark(of tables: [FollowedSource.Table], _ connection: Connection) throws -> String {
        let timeline = try connection.value(
            """
            SELECT pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) || '/' || oid
            FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()
            """)
        let marks = try tables.map { table in
            let row = try connection.execute(
                """
                SELECT pg_catalog.string_agg(
                        t.oid || '/' || t.xmin || '/' || pg_catalog.md5(p.prosrc || p.proconfig::text), ' ' ORDER BY t.tgname),
                    pg_catalog.convert_from(pg_catalog.string_agg(pg_catalog.btrim(t.tgargs, '\\x00'::bytea), ''::bytea), 'UTF8')
                FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
                WHERE t.tgrelid = $1::oid AND t.tgenabled = 'A' AND t.tgname IN ('\(trigger)', '\(trigger)_all')
                HAVING pg_catalog.count(*) = 2
                """, ["\(table.number)"], columns: 2
            ).first
            guard let mark = row?[0] else { throw missing(" of \(table.title)") }
            guard let key = row?[1], key == table.keyTitle else {
                throw SourceError(
                    .refused,
                    "the triggers of \(table.title) note \(row?[1] ?? "nothing"), but the store identifies rows by \(table.keyTitle)",
                    remedy: .makeChangeTable)
            }
            return mark
        }
        return ([timeline ?? ""] + marks).joined(separator: " ")
    }
}

extension ChangeTable {
    /// Returns what happened between two marks.
    static func change(from old: String?, to new: String?) -> String {
        func server(_ mark: String?) -> [Substring] {
            mark?.prefix { $0 != " " }.split(separator: "/") ?? []
        }
        let (before, now) = (server(old), server(new))
        if before.first != now.first {
            return "the source became another server: a standby has taken over, or a backup was restored,"
        }
        if before != now { return "the source's database was replaced" }
        return "triggers of the change table were replaced or altered"
    }
}

extension String {
    /// The text in one line, for a comment in SQL.
    fileprivate var visibleLine: String { String(map { $0.isNewline ? " " : $0 }) }
}
