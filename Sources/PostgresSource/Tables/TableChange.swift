/// The difference between a followed table in the catalogue and the table that the store remembers.
struct TableChange {
    /// The table in the catalogue.
    let table: SourceTable
    /// The table as the store is to remember it, with the remembered state of its copy.
    var followed: FollowedSource.Table
    /// The former names of columns whose attributes are renamed, by the present ones.
    let renamed: [String: String]
    /// The present names of renamed columns, by their former ones. If other sources fill the entity, their values move to
    /// other attributes.
    let movedColumns: [String: String]
    /// Whether the source's rows may have changes that were never sent, so that the table must be copied again.
    let needsCopy: Bool

    /// Compares a remembered table with the table in the catalogue. Returns nil if they are equal, unless `streamed`
    /// tells that the stream doesn't send the rows' old keys.
    ///
    /// - Parameters:
    ///   - streamed: the description of the table that the stream has just sent, if any.
    ///   - rewritesAreSilent: whether a table that has another file now may have changes that weren't sent. TRUNCATE
    ///     and VACUUM FULL, which also give a table another file, leave nothing unsent. But if the publication is for
    ///     all tables, a table may have been unlogged for a while.
    ///   - isShared: whether other sources fill the entity, too. If so, a renamed column is another attribute, because the
    ///     others may still have the former one, and the attribute of a dropped column becomes null.
    init?(
        from remembered: RememberedTable, to table: SourceTable, streamed: StreamedTable?, rewritesAreSilent: Bool,
        isShared: Bool = false
    ) throws {
        let old = remembered.table
        let new = try remembered.followed(as: table)
        let hasLostKeys = streamed.map { !$0.sendsKey(old.identity) && !$0.sendsKey(new.identity) } ?? false
        if new == remembered.stored && !hasLostKeys { return nil }
        let isRewritten = table.file != old.file
        let reusesName = new.columns.contains { column in
            old.columns.contains { $0.name == column.name && $0.number != column.number }
        }
        (self.table, followed) = (table, new)
        // If a name belongs to another column now, no column counts as renamed: all values are copied again.
        let renamedColumns = reusesName ? [:] : Self.renamed(from: old, to: new)
        renamed = isShared ? [:] : renamedColumns
        movedColumns = Dictionary(renamedColumns.map { ($1, $0) }) { first, _ in first }
        // Without a unique index, rows may have lost values to others that have the same ones.
        let hasLostIndex = new.otherKeys.count < old.otherKeys.count
        // The digest of a row has the values of all columns.
        let hasOtherDigests = new.wholeRow != nil && old.columns.map(\.plain) != new.columns.map(\.plain)
        needsCopy =
            hasOtherDigests || hasLostIndex
            || isShared && !Set(old.columns.map(\.name)).isSubset(of: new.columns.map(\.name))
            || hasLostKeys || reusesName
            || table.number != old.number
            || isRewritten && (rewritesAreSilent || table.isPartitioned)
            || new.columns.contains { Self.hasUntoldValues($0, old, table, isRewritten: isRewritten) }
            // Without the column that kept it out, a row can be stored.
            || !old.omittedRows.isEmpty && Set(old.columns.map(\.number)) != Set(new.columns.map(\.number))
            // If the stream describes another state than the catalogue, the changes between the two states aren't
            // known.
            || streamed.map { !$0.describes(new) } ?? false
    }

    private static func renamed(from old: FollowedSource.Table, to new: FollowedSource.Table) -> [String: String] {
        var renamed: [String: String] = [:]
        for column in new.columns {
            if let former = old.columns.first(where: { $0.number == column.number }), former.name != column.name {
                renamed[column.name] = former.name
            }
        }
        return renamed
    }

    /// Whether rows may have values of a column that weren't sent. If the column wasn't followed before, that is so if
    /// it has a default, if the table was rewritten, or if it isn't new. Otherwise it is so if the column's values were
    /// converted, if values of its enumerations were renamed or removed, or if fields of its composite types were
    /// changed.
    private static func hasUntoldValues(
        _ column: FollowedSource.Column, _ old: FollowedSource.Table, _ table: SourceTable, isRewritten: Bool
    ) -> Bool {
        guard let former = old.columns.first(where: { $0.number == column.number }) else {
            let hasDefault = table.columns.first { $0.number == column.number }?.hasDefault ?? true
            return hasDefault || isRewritten || column.number <= old.width
        }
        let isConverted = former.type != column.type || isRewritten && former.mark != column.mark
        let isRelabelled = !Set(former.labels).isSubset(of: column.labels)
        return isConverted || isRelabelled
    }

    /// The present names of renamed columns, by their former ones.
    var presentNames: [String: String] { Dictionary(renamed.map { ($1, $0) }) { first, _ in first } }
}

extension StreamedTable {
    /// Whether the source sends the old values of these columns for deleted rows and for rows whose key changes.
    func sendsKey(_ names: [String]) -> Bool {
        names.allSatisfy { name in columns.contains { $0.isIdentity && $0.name == name } }
    }

    /// Whether the stream describes each column of a followed table with the name and the type that the catalogue has.
    fileprivate func describes(_ table: FollowedSource.Table) -> Bool {
        table.columns.allSatisfy { column in columns.contains { $0.name == column.name && $0.type == column.type } }
    }
}

extension FollowedSource.Column {
    /// The number and the type, by which a row's digest depends on a column.
    fileprivate var plain: [Int] { [number, Int(type)] }
}

extension FollowedSource.Table {
    /// Whether two tables differ at most in members that the store doesn't depend on: file, width, filter, and the
    /// columns' modifiers, marks and labels.
    func isEquivalent(to other: FollowedSource.Table) -> Bool {
        var (own, other) = (self, other)
        (own.file, other.file, own.width, other.width) = (0, 0, 0, 0)
        (own.filter, other.filter) = (nil, nil)
        func plain(_ column: FollowedSource.Column) -> FollowedSource.Column {
            FollowedSource.Column(name: column.name, number: column.number, type: column.type)
        }
        (own.columns, other.columns) = (own.columns.map(plain), other.columns.map(plain))
        return own == other
    }
}
