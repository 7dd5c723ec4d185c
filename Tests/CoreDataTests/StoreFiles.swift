import CFetchIndexSQLite
import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation

/// The stores that `make_stores.py` has made, and what is in them.
struct StoreFiles {
    static let folder = Bundle.module.url(forResource: "Stores", withExtension: nil)!
    static let model = folder.appendingPathComponent("Shop.xcdatamodeld")

    static func store(_ name: String) -> URL { folder.appendingPathComponent("\(name).sqlite") }

    /// An object as a line of NAME.jsonl has it.
    struct Expected: Decodable, Equatable {
        let id: String
        var values: [String: String?]
        var related: [String: [String]]
        /// The texts of archived values, if these are decoded.
        var decoded: [String: String]?
    }

    static func expected(_ name: String) throws -> [Expected] {
        let text = try String(contentsOf: folder.appendingPathComponent("\(name).jsonl"), encoding: .utf8)
        // Texts contain no line ends, but U+2028 and such would be lines for `components`.
        return try text.utf8.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Expected.self, from: Data($0))
        }
    }

    /// The objects of a container in the form of `expected`. Of relationships without order, the objects are sorted.
    static func contents(of container: PersistentContainer) throws -> [Expected] {
        let context = container.newContext(isolation: nil)
        let model = try container.model()
        var found: [Expected] = []
        for entity in model.entities where !entity.isAbstract {
            var request = FetchRequest<ManagedObject>(entityName: entity.name)
            request.includesSubentities = false
            for object in try context.fetch(request) {
                var line = Expected(id: "\(entity.name)/p\(object.objectID.number)", values: [:], related: [:])
                for attribute in entity.attributes { line.values[attribute.name] = text(object[attribute.name]) }
                for relationship in entity.relationships {
                    line.related[relationship.name] = related(object, relationship)
                }
                found.append(line)
            }
        }
        return found
    }

    private static func related(_ object: ManagedObject, _ relationship: RelationshipDescription) -> [String] {
        func name(_ object: ManagedObject) -> String { "\(object.entity.name)/p\(object.objectID.number)" }
        if !relationship.isToMany { return object.relatedObject(relationship.name).map { [name($0)] } ?? [] }
        let names = object.relatedObjects(relationship.name).map(name)
        return relationship.isOrdered ? names : names.sorted()
    }

    /// Dates and doubles have their bits, so that each is told from all others.
    private static func text(_ value: Value) -> String? {
        switch value {
        case .null: nil
        case .double(let number): "\(number.bitPattern)"
        case .date(let date): "\(date.timeIntervalSinceReferenceDate.bitPattern)"
        case .data(let data): data.map { String($0, radix: 16).leftPadded }.joined()
        default: "\(value)"
        }
    }
}

extension String {
    fileprivate var leftPadded: String { count == 1 ? "0" + self : self }
}

extension [StoreFiles.Expected] {
    /// With doubles by their bits, and sorted by their ids.
    var normalized: [StoreFiles.Expected] {
        map { line in
            var line = line
            for (name, value) in line.values {
                if let value, value.hasPrefix("0x") || value.hasPrefix("-0x"), let number = Double(value) {
                    line.values[name] = "\(number.bitPattern)"
                }
            }
            return line
        }.sorted { $0.id < $1.id }
    }

    /// With the decoded values, or without them.
    func decoding(_ decodes: Bool) -> [StoreFiles.Expected] {
        map { line in
            var line = line
            if decodes { line.values.merge((line.decoded ?? [:]).mapValues { $0 }) { $1 } }
            line.decoded = nil
            return line
        }
    }

    /// Without the relationships that the model has not, which were added as other sides.
    var withoutAddedSides: [StoreFiles.Expected] {
        map { line in
            var line = line
            for name in ["notesOfPerson"] { line.related[name] = nil }
            return line
        }
    }
}

/// A store that a test changes by SQL, in a folder of its own.
struct ChangedStore: Sendable {
    let folder = TemporaryFolder()
    let url: URL

    /// Copies a store, with its large values, or begins with an empty database.
    init(copyOf name: String? = "Shop") throws {
        url = URL(fileURLWithPath: folder.path).appendingPathComponent("App.sqlite")
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        guard let name else { return }
        try files.copyItem(at: StoreFiles.store(name), to: url)
        try files.copyItem(
            at: StoreFiles.folder.appendingPathComponent(".\(name)_SUPPORT"),
            to: url.deletingLastPathComponent().appendingPathComponent(".App_SUPPORT"))
    }

    func run(_ statements: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        var message: UnsafeMutablePointer<CChar>?
        guard sqlite3_open(url.path, &handle) == SQLITE_OK,
            sqlite3_exec(handle, statements, nil, nil, &message) == SQLITE_OK
        else { throw Failure(reason: message.map { String(cString: $0) } ?? "not opened") }
    }

    /// Adds a persistent history, in which each changed row makes a transaction.
    func keepHistory() throws {
        var statements = """
            CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT);
            DROP TABLE IF EXISTS ACHANGE;
            CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
                ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB);
            INSERT INTO ATRANSACTION VALUES (1, 16002, 1, 750000000.25);
            """
        for table in ["ZTHING", "ZLABEL", "ZPERSON", "ZCARD", "ZNOTE", "ZSHELF"] {
            for (kind, (event, row)) in [("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")].enumerated() {
                statements += """

                    CREATE TRIGGER \(event.prefix(1))\(table) AFTER \(event) ON \(table) BEGIN
                        INSERT INTO ATRANSACTION VALUES (NULL, 16002, 1, abs(random() % 1000000) + 0.5);
                        INSERT INTO ACHANGE VALUES (NULL, 16001, 1, \(kind), \(row).Z_ENT, \(row).Z_PK,
                            (SELECT max(Z_PK) FROM ATRANSACTION), NULL);
                    END;
                    """
            }
        }
        try run(statements)
    }

    /// The integers in the first column of a query.
    func integers(_ query: String) throws -> [Int64] {
        var handle: OpaquePointer?
        var statement: OpaquePointer?
        defer { sqlite3_close(handle) }
        guard sqlite3_open(url.path, &handle) == SQLITE_OK,
            sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK
        else { throw Failure(reason: "the query cannot be prepared: \(query)") }
        defer { sqlite3_finalize(statement) }
        var found: [Int64] = []
        while sqlite3_step(statement) == SQLITE_ROW { found.append(sqlite3_column_int64(statement, 0)) }
        return found
    }

    struct Failure: Error { let reason: String }
}
