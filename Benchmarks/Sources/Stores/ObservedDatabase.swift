import Foundation
public import FetchIndex
import GRDB

/// An SQLite database with a GRDB observation of its ordered ids and sections.
public final class ObservedDatabase: @unchecked Sendable {
    private let queue: DatabaseQueue
    private var observation: AnyDatabaseCancellable?
    private let arrived = DispatchSemaphore(value: 0)

    public init(_ stores: Stores) throws {
        queue = try stores.database()
        let request = ValueObservation.tracking { database in
            try OrderedRow.fetchAll(database, sql: "SELECT section, id FROM package ORDER BY section, name")
        }
        observation = request.start(
            in: queue, scheduling: .async(onQueue: DispatchQueue(label: "observer")),
            onError: { fatalError("\($0)") }, onChange: { [arrived] _ in arrived.signal() })
        arrived.wait()
    }

    private struct OrderedRow: FetchableRecord, Sendable {
        let section: String
        let id: Int64

        init(row: Row) {
            section = row[0]
            id = row[1]
        }
    }

    /// Updates rows, and waits until the observer has received the new rows.
    public func update(_ changes: [(column: String, value: Value, id: Int)]) throws {
        try queue.write { database in
            for (column, value, id) in changes {
                let statement = try database.cachedStatement(sql: "UPDATE package SET \(column) = ? WHERE id = ?")
                switch value {
                case .integer(let number): try statement.execute(arguments: [number, id])
                default: try statement.execute(arguments: [value.description, id])
                }
            }
        }
        arrived.wait()
    }
}
