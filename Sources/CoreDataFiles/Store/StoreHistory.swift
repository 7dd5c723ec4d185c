/// The persistent history of a store: which objects the transactions of the app have changed.
///
///     ATRANSACTION  a row a transaction: Z_PK ascends, ZTIMESTAMP is its time
///     ACHANGE       a row a changed object: ZTRANSACTIONID, ZENTITY (the entity's number), ZENTITYPK (the object's)
///
/// https://developer.apple.com/documentation/coredata/consuming-relevant-store-changes
struct StoreHistory {
    /// A transaction. Its time tells whether another transaction has its number.
    struct Point: Codable, Equatable {
        let transaction: Int64
        /// The bits of the time.
        let time: Int64
    }

    private let copy: StoreCopy
    /// The newest transaction; nil if the store has no history.
    let newest: Point?

    /// Throws `CoreDataFileError`.
    init(_ copy: StoreCopy, _ tables: StoreTables) throws {
        self.copy = copy
        let isThere =
            ["Z_PK", "ZTIMESTAMP"].allSatisfy { tables.column($0, of: "ATRANSACTION") != nil }
            && ["ZTRANSACTIONID", "ZENTITY", "ZENTITYPK"].allSatisfy { tables.column($0, of: "ACHANGE") != nil }
        newest = try isThere ? Self.point(in: copy, "ORDER BY Z_PK DESC") : nil
    }

    private static func point(in copy: StoreCopy, _ condition: String) throws -> Point? {
        var found: Point?
        try copy.reading { database in
            try database.forEachRow("SELECT Z_PK, ZTIMESTAMP FROM ATRANSACTION \(condition) LIMIT 1") { row in
                guard let transaction = row.integer(0), row.kind(1) == .real || row.kind(1) == .integer else { return }
                found = Point(transaction: transaction, time: Int64(bitPattern: row.double(1).bitPattern))
            }
        }
        return found
    }

    /// The keys of the objects that changed after a transaction, by the numbers of their entities. Nil if the history
    /// doesn't reach back to the transaction, lacks a later one or what it has changed, or has rows that can't be read.
    /// Throws `CoreDataFileError`. O(k) for k changes.
    func changes(since point: Point) throws -> [Int64: Set<Int64>]? {
        guard let newest, try Self.point(in: copy, "WHERE Z_PK = \(point.transaction)") == point else { return nil }
        var changes: [Int64: Set<Int64>] = [:]
        var changing: Set<Int64> = []
        var isReadable = true
        try copy.reading { database in
            let old = "typeof(ZTRANSACTIONID) = 'integer' AND ZTRANSACTIONID <= \(point.transaction)"
            let query = "SELECT ZTRANSACTIONID, ZENTITY, ZENTITYPK FROM ACHANGE WHERE NOT (\(old))"
            try database.forEachRow(query) { row in
                guard let transaction = row.integer(0), let entity = row.integer(1), let key = row.integer(2) else {
                    isReadable = false
                    return
                }
                changing.insert(transaction)
                changes[entity, default: []].insert(key)
            }
        }
        let expected = newest.transaction - point.transaction
        guard isReadable, Int64(changing.count) == expected, changing.allSatisfy({ $0 <= newest.transaction }) else {
            return nil
        }
        return changes
    }
}
