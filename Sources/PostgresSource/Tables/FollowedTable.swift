internal import FetchIndex

extension FollowedSource {
    /// Why a row is left out.
    package struct OmittedRow: Codable, Equatable, Sendable {
        package var column: String
        package var reason: String
        /// Whether the row waits until another source no longer has its key. Nil for false.
        package var isHeld: Bool?
    }

    /// The attributes of an entity whose table has no key: an object stands for all equal rows.
    package struct WholeRow: Codable, Equatable, Sendable {
        /// The attribute with the digest of a row's values, which is the key.
        package var digest: String
        /// The attribute with the number of equal rows.
        package var count: String

        /// Chooses names that no column has.
        init(besides columns: [String]) {
            func free(_ name: String) -> String { columns.contains(name) ? free(name + "_") : name }
            (digest, count) = (free("rowDigest"), free("rowCount"))
        }
    }

    /// A table that an entity of the store follows.
    package struct Table: Equatable, Sendable {
        package var schema: String
        package var name: String
        /// The table's number in the source (OID). Another table of the same name usually has another number.
        package var number: UInt32
        /// The number of the table's file, which changes when the source rewrites the whole table.
        package var file: UInt32
        package var entity: String
        /// The columns whose values together identify rows; empty if the table has no key.
        package var key: [String]
        /// The attributes by which objects stand for rows, if the table has no key.
        package var wholeRow: WholeRow?
        /// The snapshot of the last copy, if the table has no key: the copied rows have the changes of the transactions that
        /// it shows. Nil after the store has become consistent.
        package var snapshot: SourceSnapshot?
        /// The attribute that contains the source's name; nil if only this source fills the entity.
        package var shard: Shard?
        /// Columns that are unique together, by which foreign keys of other tables name rows.
        package var otherKeys: [[String]] = []
        package var columns: [Column]
        /// Whether columns that are added to the table are followed, too.
        package var followsNewColumns: Bool
        /// Columns that are stored as text, whatever their type.
        package var asText: [String]
        /// The numbers, by their names, of columns that aren't followed, because attributes cannot have these names.
        package var leftOut: [String: Int] = [:]
        /// The user's condition for rows, in the source's SQL.
        package var condition: String?
        /// The condition with the current names of its columns, from the store's own publication; otherwise nil.
        package var filter: String?
        package var references: [Reference] = []
        /// The rule for values that the store's types don't have.
        package var unstorable = UnstorableRule.error
        /// Why rows are left out, by their keys: they have values that cannot be stored. A row comes back when it gets others.
        package var omittedRows: [String: OmittedRow] = [:]
        /// The number of columns that the table has had, including dropped ones and those that aren't followed.
        package var width = 0
        package var copy = CopyState.new

        package var title: String { "\(schema).\(name)" }
        /// The entity's attributes whose values together identify objects.
        package var keyAttributes: [String] { attributes(ofKey: key) }
        /// The attributes that are unique together if columns are unique together in the source.
        package func attributes(ofKey columns: [String]) -> [String] {
            (shard.flatMap { $0.isInKey ? [$0.attribute] : nil } ?? []) + (wholeRow.map { [$0.digest] } ?? columns)
        }
        /// The names of the key's columns, for messages and as the argument of the change table's triggers.
        package var keyTitle: String { SourceKey(key).title }
        /// The columns whose old values the source must send.
        package var identity: [String] { wholeRow == nil ? key : columns.map(\.name) }
        package var quoted: String { "\(schema.quotedName).\(name.quotedName)" }
        package var currentCondition: String? { filter ?? condition }

        package init(
            schema: String, name: String, number: UInt32, file: UInt32, entity: String, key: [String],
            columns: [Column],
            followsNewColumns: Bool, asText: [String] = [], condition: String? = nil
        ) {
            (self.number, self.file) = (number, file)
            (self.schema, self.name, self.entity, self.key, self.columns) = (schema, name, entity, key, columns)
            (self.followsNewColumns, self.asText, self.condition) = (followsNewColumns, asText, condition)
        }
    }
}

// The stored form: one JSON object with the members of the table, of its key, and of its copy's state.
extension FollowedSource.Table: Codable {
    private enum CodingKeys: String, CodingKey {
        case schema
        case name
        case number
        case file
        case entity
        case shard
        case wholeRow
        case snapshot
        case otherKeys
        case columns
        case followsNewColumns
        case asText
        case leftOut
        case condition
        case filter
        case references
        case unstorable
        case omittedRows
        case width
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            schema: try members.decode(String.self, forKey: .schema),
            name: try members.decode(String.self, forKey: .name),
            number: try members.decode(UInt32.self, forKey: .number),
            file: try members.decode(UInt32.self, forKey: .file),
            entity: try members.decode(String.self, forKey: .entity),
            key: try SourceKey(from: decoder).columns,
            columns: try members.decode([FollowedSource.Column].self, forKey: .columns),
            followsNewColumns: try members.decode(Bool.self, forKey: .followsNewColumns),
            asText: try members.decode([String].self, forKey: .asText),
            condition: try members.decodeIfPresent(String.self, forKey: .condition))
        shard = try members.decodeIfPresent(FollowedSource.Shard.self, forKey: .shard)
        wholeRow = try members.decodeIfPresent(FollowedSource.WholeRow.self, forKey: .wholeRow)
        snapshot = try members.decodeIfPresent(SourceSnapshot.self, forKey: .snapshot)
        otherKeys = try members.decodeIfPresent([[String]].self, forKey: .otherKeys) ?? []
        leftOut = try members.decodeIfPresent([String: Int].self, forKey: .leftOut) ?? [:]
        filter = try members.decodeIfPresent(String.self, forKey: .filter)
        references = try members.decode([FollowedSource.Reference].self, forKey: .references)
        unstorable = try members.decodeIfPresent(UnstorableRule.self, forKey: .unstorable) ?? .error
        omittedRows = try members.decodeIfPresent([String: FollowedSource.OmittedRow].self, forKey: .omittedRows) ?? [:]
        width = try members.decode(Int.self, forKey: .width)
        copy = try CopyState(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(schema, forKey: .schema)
        try members.encode(name, forKey: .name)
        try members.encode(number, forKey: .number)
        try members.encode(file, forKey: .file)
        try members.encode(entity, forKey: .entity)
        try members.encodeIfPresent(shard, forKey: .shard)
        try members.encodeIfPresent(wholeRow, forKey: .wholeRow)
        try members.encodeIfPresent(snapshot, forKey: .snapshot)
        if !otherKeys.isEmpty { try members.encode(otherKeys, forKey: .otherKeys) }
        try members.encode(columns, forKey: .columns)
        try members.encode(followsNewColumns, forKey: .followsNewColumns)
        try members.encode(asText, forKey: .asText)
        if !leftOut.isEmpty { try members.encode(leftOut, forKey: .leftOut) }
        try members.encodeIfPresent(condition, forKey: .condition)
        try members.encodeIfPresent(filter, forKey: .filter)
        try members.encode(references, forKey: .references)
        if unstorable != .error { try members.encode(unstorable, forKey: .unstorable) }
        if !omittedRows.isEmpty { try members.encode(omittedRows, forKey: .omittedRows) }
        try members.encode(width, forKey: .width)
        try SourceKey(key).encode(to: encoder)
        try copy.encode(to: encoder)
    }
}
