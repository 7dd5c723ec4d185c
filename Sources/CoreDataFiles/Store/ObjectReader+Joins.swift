// The links of many-to-many relationships.
extension ObjectReader {
    /// Calls the body with each object that has links of a many-to-many relationship, and with these links. Throws
    /// `CoreDataFileError`, and rethrows the body's errors. O(links log links).
    func forEachLinks(of join: StoreSchema.Join, _ body: (Object, [Link]) throws -> Void) throws {
        let columns = [join.near, join.far, join.nearOrder, join.farOrder].map {
            $0.map(StoreDatabase.quoted) ?? "NULL"
        }
        var near: (key: Int64, object: Object?)?
        var links: [Link] = []
        var last: Object?
        func end() throws {
            if let object = near?.object, !links.isEmpty { try body(object, links) }
            links.removeAll(keepingCapacity: true)
            last = nil
        }
        try forEachJoinRow(of: join, columns) { row in
            if near?.key != row.near {
                try end()
                near = (row.near, object(of: join.entity, key: row.near))
            }
            guard near?.object != nil, let far = object(of: join.destination, key: row.far) else {
                return note(.leftOut, "links to objects that are missing", "\(join.title) \(row.near)-\(row.far)")
            }
            // Without a primary key, a table may have a link twice.
            if far == last { return }
            last = far
            links.append(Link(object: far, order: row.order, otherOrder: row.otherOrder))
        }
        try end()
    }

    private struct JoinRow {
        let near: Int64
        let far: Int64
        let order: Int64?
        let otherOrder: Int64?

        init(_ row: StoreDatabase.Row) {
            (near, far) = (row.integer(0) ?? 0, row.integer(1) ?? 0)
            (order, otherOrder) = (row.integer(2), row.integer(3))
        }

        private init(turning row: JoinRow) {
            (near, far, order, otherOrder) = (row.far, row.near, row.otherOrder, row.order)
        }

        var turned: JoinRow { JoinRow(turning: self) }
    }

    /// Calls the body with the rows of a join, by the two keys. The rows of a damaged table are collected in memory.
    private func forEachJoinRow(
        of join: StoreSchema.Join, _ columns: [String], _ body: (JoinRow) throws -> Void
    ) throws {
        if !copy.database.isDamaged {
            let table = StoreDatabase.quoted(join.table)
            var query = "SELECT \(columns.joined(separator: ", ")) FROM \(table)"
            if join.isReflexive {
                let turned = [columns[1], columns[0], columns[3], columns[2]]
                query += " UNION SELECT \(turned.joined(separator: ", ")) FROM \(table)"
            }
            return try copy.reading { try $0.forEachRow(query + " ORDER BY 1, 2") { try body(JoinRow($0)) } }
        }
        var rows: [JoinRow] = []
        try copy.reading { database in
            try database.forEachRow(
                of: join.table, columns, key: "rowid",
                unreadable: { note(.leftOut, "rows that cannot be read", "\(join.table) \($0)") }
            ) { rows.append(JoinRow($0)) }
        }
        if join.isReflexive { rows += rows.map(\.turned) }
        for row in rows.sorted(by: { ($0.near, $0.far) < ($1.near, $1.far) }) { try body(row) }
    }
}
