import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// A store that follows tables, and its comparison with them.
struct Followed {
    let folder = TemporaryFolder()
    let address: String
    var usesChangeTable = false

    init(address: String) { self.address = address }

    /// A follower of a database of its own, after some commands, and a connection to the database.
    static func database(_ commands: String...) throws -> (Followed, Connection) {
        let followed = Followed(address: try TestServer.shared().makeDatabase())
        let connection = try Connection(followed.address)
        for command in commands { try connection.execute(command) }
        return (followed, connection)
    }

    var store: String { folder.path }

    struct NeverCurrent: Error {}

    /// Follows until the store has everything that the source has now.
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
            }
        }
        try follower.run()
        if Date() > end { throw NeverCurrent() }
        return events
    }

    /// The rows of an entity by the text of their key, with their values as texts.
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
                    if !value.isNull { values[name] = ColumnValue.text(of: value) }
                }
                rows[values[key] ?? ""] = values
            }
        }
        return rows
    }

    /// The rows of a table in the same form. The statement makes texts as the store writes them.
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

    /// Expects that the store and its caches have no defect.
    func check() throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        let defects = try container.check { _, _ in }
        #expect(defects.isEmpty, "\(defects)")
    }

    /// Fetches an order, so that its cache exists.
    func fetch(_ definition: OrderDefinition, cache: String) throws -> Int {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        return try container.withOrder(definition, .init(cacheName: cache)) { $0.rowCount }
    }
}
