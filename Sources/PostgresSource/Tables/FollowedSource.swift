internal import FetchIndex

/// A source that a store follows: its address without a password, its tables, and what a follower needs, besides the
/// position, to continue after a restart.
///
/// It is stored as JSON in an attachment. Other versions must be able to read the JSON's names and values;
/// `SourceFacts` in FetchIndex reads some of them, for `info`.
package struct FollowedSource: Codable, Equatable, Sendable, SourceDescription {
    package struct Column: Codable, Equatable, Sendable {
        /// The column's name, which is also the attribute's.
        package var name: String
        /// The column's number, which stays when the column is renamed; 0 if unknown.
        package var number: Int
        /// The number (OID) of the type in the source.
        package var type: UInt32
        /// The type's modifier, such as a length or numbers of digits; -1 if the type has none.
        package var modifier: Int32
        /// A number that changes with the column's definition; 0 if unknown.
        package var mark: UInt32
        /// The values of enumerations and the fields of composite types that the type consists of, with their numbers.
        package var labels: [String]
        /// The number (OID) of the elements' type, if the column has arrays, which are stored as JSON.
        package var element: UInt32?

        package init(
            name: String, number: Int, type: UInt32, modifier: Int32 = -1, mark: UInt32 = 0, labels: [String] = [],
            element: UInt32? = nil
        ) {
            (self.name, self.number, self.type, self.modifier) = (name, number, type, modifier)
            (self.mark, self.labels, self.element) = (mark, labels, element)
        }
    }

    /// A foreign key that is stored as a relationship.
    package struct Reference: Equatable, Sendable {
        /// The columns, in the order of the key columns of the other entity's table.
        package var columns: [String]
        package var relationship: String
        package var entity: String
        /// The columns of the other table that the foreign key names, if that isn't the table's key, or if the table is
        /// followed from another source.
        package var key: [String]?

        package init(columns: [String], relationship: String, entity: String, key: [String]? = nil) {
            (self.columns, self.relationship, self.entity, self.key) = (columns, relationship, entity, key)
        }
    }

    /// The attribute that contains the source's name, of an entity that several sources fill.
    package struct Shard: Codable, Equatable, Sendable {
        package var attribute: String
        /// Whether the attribute is in the entity's key, so that two sources may have the same key.
        package var isInKey: Bool

        package init(_ attribute: String, isInKey: Bool) { (self.attribute, self.isInKey) = (attribute, isInKey) }
    }

    /// The way in which the store learns of the source's changes.
    package enum Way: String, Codable, Sendable {
        /// Logical replication, with a slot and a publication.
        case stream
        /// The change table, which triggers in the source fill.
        case changeTable
    }

    /// The name that the user gave to the source; nil for `SourceName.main`.
    private var ownName: String?
    package var way: Way
    /// The address of the source, without a password.
    package var address: String
    /// The identifier of the server or, if the store reads the change table, of the change table.
    package var systemIdentifier: String
    package var slot: String
    package var publication: String
    /// Whether the slot was created for this store, and is dropped when following ends.
    package var ownsSlot: Bool
    /// Whether the publication was created for this store, and is dropped when following ends.
    package var ownsPublication: Bool
    package var tables: [Table]
    package var consistentFrom: String?
    /// Whether a row had a foreign key that named a missing row at the last commit while changes were followed.
    package var hasWaitingRows = false
    /// A text that stands for the state of the publication or of the triggers. If the source gives another text later,
    /// changes of rows may be missing (`checkMark`).
    package var mark: String?
    /// The numbers (OIDs) of tables that the store followed earlier. The log may still have their rows, which are ignored.
    package var formerTables: [UInt32]?
    /// The timeline of the log that the position belongs to.
    package var timeline: UInt32?

    package init(
        _ way: Way, named name: String = SourceName.main, address: String, systemIdentifier: String, slot: String,
        publication: String, ownsSlot: Bool, ownsPublication: Bool, tables: [Table]
    ) {
        ownName = name == SourceName.main ? nil : name
        (self.way, self.address, self.systemIdentifier, self.tables) = (way, address, systemIdentifier, tables)
        (self.slot, self.publication) = (slot, publication)
        (self.ownsSlot, self.ownsPublication) = (ownsSlot, ownsPublication)
    }

    package var name: String { ownName ?? SourceName.main }
    /// The numbers of the tables, as an array in SQL.
    var tableNumbers: String { "{" + tables.map { "\($0.number)" }.joined(separator: ",") + "}" }
    package var isCopied: Bool { tables.allSatisfy(\.copy.isCopied) }
}

extension FollowedSource.Reference: Codable {
    private enum CodingKeys: String, CodingKey {
        case column
        case columns
        case relationship
        case entity
        case key
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            columns: try members.decodeIfPresent([String].self, forKey: .columns)
                ?? [members.decode(String.self, forKey: .column)],
            relationship: try members.decode(String.self, forKey: .relationship),
            entity: try members.decode(String.self, forKey: .entity),
            key: try members.decodeIfPresent([String].self, forKey: .key))
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        if columns.count == 1 {
            try members.encode(columns[0], forKey: .column)
        } else {
            try members.encode(columns, forKey: .columns)
        }
        try members.encode(relationship, forKey: .relationship)
        try members.encode(entity, forKey: .entity)
        try members.encodeIfPresent(key, forKey: .key)
    }
}
