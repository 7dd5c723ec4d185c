/// A database of others whose tables entities of a store follow: what it takes to go on after a restart. It holds no passwords.
///
/// Its JSON is stored. `SourceFacts` in FetchIndex reads some of the names, for `info`.
package struct FollowedSource: Codable, Equatable, Sendable {
    package struct Column: Codable, Equatable, Sendable {
        /// Also the attribute's.
        package var name: String
        /// Stays when the column is renamed; 0 when it is not known.
        package var number: Int
        /// The number of the database's type, and its modifier: lengths, digits.
        package var type: UInt32
        package var modifier: Int32
        /// What changes with each change of the column's definition; 0 when it is not known.
        package var mark: UInt32
        /// The values of enumerations that are in it, with their numbers; the fields of composite types.
        package var labels: [String]

        package init(
            name: String, number: Int, type: UInt32, modifier: Int32 = -1, mark: UInt32 = 0, labels: [String] = []
        ) {
            (self.name, self.number, self.type, self.modifier) = (name, number, type, modifier)
            (self.mark, self.labels) = (mark, labels)
        }
    }

    /// A foreign key that is a relationship.
    package struct Reference: Codable, Equatable, Sendable {
        package var column: String
        package var relationship: String
        package var entity: String

        package init(column: String, relationship: String, entity: String) {
            (self.column, self.relationship, self.entity) = (column, relationship, entity)
        }
    }

    package struct Table: Codable, Equatable, Sendable {
        package var schema: String
        package var name: String
        /// The database's number of the table: another table of the name has another one.
        package var number: UInt32
        /// The number of its file, which changes when its rows are written anew without saying so.
        package var file: UInt32
        package var entity: String
        /// The column whose values name rows.
        package var key: String
        package var columns: [Column]
        /// Whether columns that are added later are followed too.
        package var followsNewColumns: Bool
        /// Columns that are stored as text, whatever their type.
        package var asText: [String]
        /// A condition in the database's language.
        package var condition: String?
        /// The same with the names that its columns have now, where the database tells it.
        package var filter: String?
        package var references: [Reference] = []
        /// How many columns the table has had, dropped ones and those that are not followed too.
        package var width = 0
        package var isCopied = false
        /// A position in the source's log before which the table was another one; it is copied when the stream has passed that. Else rows
        /// of the stream from before the change would be written over the copy.
        package var changedUntil: String?
        /// The key of the last row that was copied, as text.
        package var copiedThrough: String?
        /// Whether rows that are gone are deleted when it is copied: objects were there before.
        package var replaces = false

        package var title: String { "\(schema).\(name)" }
        package var currentCondition: String? { filter ?? condition }

        package init(
            schema: String, name: String, number: UInt32, file: UInt32, entity: String, key: String, columns: [Column],
            followsNewColumns: Bool, asText: [String] = [], condition: String? = nil
        ) {
            (self.number, self.file) = (number, file)
            (self.schema, self.name, self.entity, self.key, self.columns) = (schema, name, entity, key, columns)
            (self.followsNewColumns, self.asText, self.condition) = (followsNewColumns, asText, condition)
        }

        /// Its rows stay until all are copied anew; then those that were not copied are deleted.
        package mutating func requireCopy() { (isCopied, copiedThrough, replaces) = (false, nil, true) }
    }

    /// How changes are heard of.
    package enum Way: String, Codable, Sendable {
        /// Logical replication, with a slot and a publication.
        case stream
        /// A table that triggers write.
        case changeTable
    }

    package var way: Way
    /// How it is connected to, without a password.
    package var address: String
    /// What tells the server from others.
    package var systemIdentifier: String
    package var slot: String
    package var publication: String
    /// Whether they were made for this store, and are dropped with it.
    package var ownsSlot: Bool
    package var ownsPublication: Bool
    package var tables: [Table]
    /// Until it has followed up to there, the store may have rows of different times. Nil: it is consistent.
    package var consistentFrom: String?
    /// Whether foreign keys of rows name rows that are not there.
    package var hasWaitingRows = false
    /// What changes with each change of what tells of changes: rows of which it did not tell meanwhile would be missing.
    package var mark: String?
    /// The timeline of the log in which the position is.
    package var timeline: UInt32?

    package init(
        _ way: Way, address: String, systemIdentifier: String, slot: String, publication: String, ownsSlot: Bool,
        ownsPublication: Bool, tables: [Table]
    ) {
        (self.way, self.address, self.systemIdentifier, self.tables) = (way, address, systemIdentifier, tables)
        (self.slot, self.publication) = (slot, publication)
        (self.ownsSlot, self.ownsPublication) = (ownsSlot, ownsPublication)
    }

    package var isConsistent: Bool { consistentFrom == nil && tables.allSatisfy(\.isCopied) }
}
