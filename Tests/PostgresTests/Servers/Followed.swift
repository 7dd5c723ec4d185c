import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// A store that follows tables, and is compared with them.
struct Followed {
    let folder = TemporaryFolder()
    let address: String
    var usesChangeTable = false

    init(address: String) { self.address = address }

    /// Returns a store for a new database, in which the commands were executed, and a connection to the database.
    static func database(_ commands: String...) throws -> (Followed, Connection) {
        let followed = Followed(address: try TestServer.shared().makeDatabase())
        let connection = try Connection(followed.address)
        for command in commands { try connection.execute(command) }
        return (followed, connection)
    }

    var store: String { folder.path }

    /// The program that `fetchindex follow` runs.
    static var executable: String {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        return (bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL).appendingPathComponent(
            "fetchindex-follow"
        ).path
    }

    struct NeverCurrent: Error {}

    /// Follows until the store has everything that the source has now. Returns most events, as texts.
    @discardableResult
    func follow(_ tables: [String] = [], _ change: (inout FollowOptions) throws -> Void = { _ in }) throws -> [String] {
        var options = FollowOptions()
        options.address = address
        options.tables = try tables.map { try TableChoice($0) }
        options.endsWhenCurrent = true
        options.rangeLength = 7
        options.usesChangeTable = usesChangeTable
        try change(&options)
        var events: [String] = []
        let end = Date() + 180
        let follower = try Follower(storeAt: store, options, isInterrupted: { Date() > end }) { event in
            switch event {
            case .connected, .makingSlot: break
            case .copying: break
            case .copied(let table, let counts, _):
                events.append("copied \(table): \(counts.inserted + counts.updated)")
            case .consistent: events.append("consistent")
            case .transaction(_, let counts, _):
                events.append("+\(counts.inserted) ~\(counts.updated) -\(counts.deleted)")
            case .warning(let text): events.append("warning: \(text)")
            case .failed(let error): events.append("failed: \(error)")
            }
        }
        try follower.run()
        if Date() > end { throw NeverCurrent() }
        return events
    }

    /// Returns the rows of an entity by key: the values that aren't null, as texts, by attribute name.
    func rows(_ entity: String, key: String) throws -> [String: [String: String]] {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        let definition = OrderDefinition(entity: entity, sortKeys: [SortKey(key)])
        var rows: [String: [String: String]] = [:]
        let names = try #require(try container.model().entity(named: entity)).attributes.map(\.name)
        try container.withOrder(definition, .init()) { order in
            try order.forEachRow { row in
                var values: [String: String] = [:]
                for name in names {
                    let value = try row.value(of: name)
                    if !value.isNull { values[name] = value.sourceText }
                }
                rows[values[key] ?? ""] = values
            }
        }
        return rows
    }

    /// Returns values of all objects of an entity as texts, in the order of an attribute or several. The order has a cache.
    func values(_ entity: String, _ columns: [String], sortedBy keys: [String]) throws -> [[String?]] {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        let definition = OrderDefinition(entity: entity, sortKeys: keys.map { SortKey($0) })
        return try container.withOrder(definition, .init(cacheName: "all \(entity)")) { order in
            let read = try columns.map { try order.column($0) }
            var rows: [[String?]] = []
            try order.forEachRow { row in
                rows.append(
                    try read.map {
                        let value = try row.value(of: $0)
                        return value.isNull ? nil : value.sourceText
                    })
            }
            return rows
        }
    }

    /// Returns the rows of a table in the form of `rows`. `columns` are SQL expressions for the texts, by attribute
    /// name.
    func sourceRows(
        _ table: String, key: String, _ columns: [String: String], in connection: Connection? = nil
    ) throws -> [String: [String: String]] {
        let connection = try connection ?? Connection(address)
        let names = columns.keys.sorted()
        let list = names.map { "(\(columns[$0] ?? $0))::text" }.joined(separator: ", ")
        var rows: [String: [String: String]] = [:]
        for row in try connection.execute("SELECT \(list) FROM \(table)") {
            var values: [String: String] = [:]
            for (name, value) in zip(names, row) { values[name] = value }
            rows[values[key] ?? ""] = values
        }
        return rows
    }

    /// Checks that the store and its caches have no defects.
    func check() throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        let defects = try container.check { _, _ in }
        #expect(defects.isEmpty, "\(defects)")
    }

    /// Fetches an order with a cache name, so that the cache exists. Returns the number of rows.
    func fetch(_ definition: OrderDefinition, cache: String) throws -> Int {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        return try container.withOrder(definition, .init(cacheName: cache)) { $0.rowCount }
    }
}

extension Value {
    /// The text as which PostgreSQL writes the value.
    fileprivate var sourceText: String {
        switch self {
        case .boolean(let value): value ? "t" : "f"
        case .double(let number):
            number.isNaN ? "NaN" : number.isInfinite ? (number > 0 ? "Infinity" : "-Infinity") : "\(number)"
        case .data: "\\x" + description
        default: description
        }
    }
}
