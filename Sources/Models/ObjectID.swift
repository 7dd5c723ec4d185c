public import FetchIndexEssentials

/// Identifies one object of a store. The store doesn't give the number of a committed object to another object of the
/// same entity, with the exceptions below.
///
/// An id contains the identifier of the store that gave its number, unless that store has none. `existingObject(with:)`
/// of a store with another identifier refuses the id. So an id that was kept in a file leads to the same object or to
/// none, if both stores have identifiers. A backup is a separate store, but accepts the ids of the objects that were
/// copied to it. Numbers may be used again if a power loss undoes commits (which the durability `.full` excludes), if a
/// repair finds an entity's counter damaged, or if the store's file is copied or replaced by other means than a backup.
///
/// Encoding an id gives the text of ``uriRepresentation``.
public struct ObjectID: Sendable {
    package let key: RecordKey
    private let origin: ObjectOrigin

    package init(_ key: RecordKey, _ origin: ObjectOrigin) {
        self.key = key
        self.origin = origin
    }

    /// The id of another object of the same entity and store.
    package func of(_ key: RecordKey) -> ObjectID { ObjectID(key, origin) }

    /// The placeholder id with which the types in predicates are checked.
    package static let anyRecord = ObjectID(
        RecordKey(entity: 0, number: 1), ObjectOrigin(store: nil, entityName: "any"))

    /// The name of the object's entity. An id that is read from a URI has the name that is in the URI.
    public var entityName: String { origin.entityName }

    /// The store that gave the object its number: the object's own store, or, for an object that a backup copied, the
    /// original. It is nil if the store's identifier was missing or damaged when the store was opened, or if the id was
    /// read from a URI without an identifier. A store lacks one if a version of FetchIndex without identifiers created
    /// it, until a transaction makes one. `existingObject(with:)` can't tell that an id without an identifier is
    /// another store's.
    public var storeIdentifier: UUID? { origin.store(of: key.number) }

    /// The object's number within its entity, counted from 1. The number of a temporary id has a meaning only in its
    /// context.
    public var number: UInt64 { key.number }

    /// Whether the id is the one that a new object has before it's saved. Saving gives the object a permanent id.
    public var isTemporary: Bool { key.isTemporary }
}

extension ObjectID: Hashable, Comparable {
    public static func == (left: ObjectID, right: ObjectID) -> Bool {
        left.key == right.key && (left.origin === right.origin || left.storeIdentifier == right.storeIdentifier)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(key) }

    /// Sorts by entity and number, then by store.
    public static func < (left: ObjectID, right: ObjectID) -> Bool {
        if left.key != right.key || left.origin === right.origin { return left.key < right.key }
        return left.storeIdentifier?.uuidString ?? "" < right.storeIdentifier?.uuidString ?? ""
    }
}

extension ObjectID: CustomStringConvertible {
    /// `#17`, or `new 17` before the object is saved.
    public var description: String { key.description }
}

/// Encodes the id as the text of its URI. A temporary id can't be encoded.
extension ObjectID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let uri = URL(string: text), let id = ObjectID(uriRepresentation: uri) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\" is not an object's id")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        guard let uri = uriRepresentation else {
            throw EncodingError.invalidValue(
                self,
                .init(codingPath: encoder.codingPath, debugDescription: "\(self) is a temporary id: save the object"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(uri.absoluteString)
    }
}

/// The properties that the ids of an entity's objects in a store share.
package final class ObjectOrigin: Sendable {
    /// A store from which this one was copied. `end` is the first object number that the original hadn't assigned when
    /// it was copied.
    package struct Original: Sendable {
        let store: UUID
        let end: UInt64

        package init(store: UUID, end: UInt64) { (self.store, self.end) = (store, end) }
    }

    private let store: UUID?
    /// The originals, oldest first.
    private let originals: [Original]
    package let entityName: String

    package init(store: UUID?, _ originals: [Original] = [], entityName: String) {
        (self.store, self.originals, self.entityName) = (store, originals, entityName)
    }

    /// The store that gave a number to an object.
    package func store(of number: UInt64) -> UUID? { originals.first { number < $0.end }?.store ?? store }

    /// Whether an object number that the store `other` assigned identifies the same object here. Also true if either
    /// store has no identifier.
    package func has(_ number: UInt64, of other: UUID?) -> Bool {
        guard let store, let other, other != store else { return true }
        return originals.contains { $0.store == other && number < $0.end }
    }
}
