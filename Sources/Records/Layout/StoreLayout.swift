internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexLMDB

/// The on-disk format: an LMDB environment with six tables. Numbers are little-endian but where a key says BE;
/// LMDB's own pages and its integer keys are in the machine's byte order. A checksum is the low half of the value's
/// XXH3-64. Text is UTF-8; `text` is its length as a varint (LEB128) and its bytes.
///
///     meta     "format"           version 4 | checksum 4
///              "model"            model | checksum 4                               -> Models/Coding/Model+Coding.swift
///              "state"            commit 8 | log start 8 | log bytes 8 | log limit 8 | model version 4
///                                   | LMDB transaction 8 (version 2: none)
///                                   | [entity without unique keys 2 | the first such object 8] | checksum 4
///              "identifier"       UUID 16 | checksum 4
///              "build"            cache 4 | checksum 4      while a cache is built in several transactions
///              "maintained"       names varint x text | checksum 4      caches that every writer keeps
///              "unread"           caches varint x (name text | number of the cache varint | commit varint | reason text) | checksum 4
///                                   what the exact reader of a cache has not had: with a reason the rebuild of that commit, else
///                                   the changes after it, for which the log is kept unless the number is 0
///                                                                       -> OrderCaches/Cache/CacheDirectory+Unread.swift
///              "locked"           caches varint x eight texts | checksum 4      what no other request replaces
///                                                                                -> OrderCaches/Cache/CacheLock.swift
///              "source"           bytes | checksum 4     what is followed                -> Store/Attachment.swift
///              "source position"  bytes | checksum 4     how far
///              "numbers"          origin | checksum 4     the store with whose export this one was filled
///                                                                              -> Copy/NumbersOrigin.swift
///                  origin         UUID 16 | entities varint x (entity varint | end varint): the number behind its last object
///              "originals"        origins | checksum 4     the stores that this one is a copy of, the oldest first
///                                                                              -> Copy/CopyIdentity.swift
///              "entity" number 2  next object 8 | objects 8 | checksum 4
///              "zone" entity 2 BE | zone 8 BE     object numbers / 8,192       -> Zones/Zone.swift
///                                 objects varint | slots varint x bounds | [coded] | checksum 4 (XOR the key's)
///                  bounds         0: nothing is known, or type of value | 64 with nulls | 128 with values 1
///                                   with values: least | greatest, each length 1 | first bytes of the value's place in its order
///                  coded          slots with columns varint x slot varint | changed since varint x place varint | end varint:
///                                   the place behind the last number that has codes; none without codes
///              "column" entity 2 BE | zone 8 BE | slot 2 BE                        -> Columns/TextColumn.swift
///                                 length of a code 1 | texts varint x text | codes of places | checksum 4 (XOR the key's)
///     records  entity 16 bits | object 48 bits (integer key)
///                                 record                                           -> RecordLayout.swift
///     log      commit 8 BE | 0000 time 8 | transaction 8 | author text | entities varint x
///                                   (entity, inserted, updated, deleted: varints) | checksum 4
///              commit 8 BE | part 4 BE  entries | checksum 4     (both: XOR the key's checksum)
///                  entry          1 | entity varint | first object varint | count varint        inserted
///                                 2 | entity varint | object varint | record length varint | old record    updated
///                                 3 | the same                                                   deleted
///     unique   entity 2 BE | attribute 2 BE | value as OrderKey
///              entity 2 BE | 32,768 + constraint 2 BE | values as OrderKeys
///                                 number | checksum 4      object 6 | 2: 0, or the object's entity where it is another one;
///                                   without the high bytes that are 0 (before version 10: with them)
///              from 32,768 on      links                                            -> Links/LinkKey.swift
///                  inherited attributes: entity and number of the topmost superentity that has them
///     caches   name               header                                           -> OrderCaches/Cache/CacheHeader.swift
///     nodes    cache 24 bits | node 40 bits (integer key)
///                                 node | [padding] | checksum 4 (XOR the key's)      -> CountedTree/Node/NodeLayout.swift
///
/// Invariants
/// - A commit number names one state of the records. It grows by one with each transaction that changes them, and
///   by nothing else.
/// - The log holds every change after the commit `log start`; an object that was inserted and changed within one
///   commit appears as inserted only. Object numbers are given out once, in order: numbers from an inserted range's
///   first on did not exist before its commit.
/// - A record that refers to another object is the truth of that link; the key that leads back is written and deleted with it,
///   and follows from it.
/// - An inserted range may include objects that were deleted again in the same commit or later.
/// - A zone counts all objects with its numbers, and its bounds include all their values. Its slots are those that the entity had when
///   the first of them was written.
/// - A column of a zone says what its objects have in a slot, but for those that the zone calls changed and those from its end on. A
///   zone has columns for the slots that it names, and no others.
/// - A cache's nodes belong to it alone; deleting the cache deletes them. Those of the number under "build" belong to a
///   build that goes on, or that was killed: the next one takes them out.
///
/// Versions
/// - 1: the first.
/// - 2: the values of unique keys have checksums; a commit in the log names the LMDB transaction that made it,
///   and the checksums of its parts cover their keys.
/// - 3: the state names the LMDB transaction that wrote it, and each transaction writes it. A store of version 2 becomes
///   one of version 3 with the next transaction; processes that know version 2 only refuse it from then on.
/// - 4: stores have identifiers, and models may have attributes that are unique together. Raised in
///   the same way; a store gets its identifier then.
/// - 5: attributes have permanent numbers: entities remember removed attributes, former names, default values and the
///   declarations that they followed. Raised in the same way.
/// - 6: models may have indexes and derived attributes, which every writer keeps. Raised in the same way.
/// - 7: entities may be subentities of others. Raised in the same way.
/// - 8: the state may name an entity whose objects may lack their unique keys. Raised in the same way.
/// - 9: entities may have relationships. The table `unique` has the keys that lead from an object to those that are linked to
///   it: a table of its own would have to be made in stores that other processes have open. Raised in the same way.
/// - 10: the numbers in the values of unique keys are without their high bytes that are 0. Raised in the same way.
/// - 11: the meta table has zones. Raised in the same way: a zone whose first object an older program wrote stays without.
/// - 12: zones have columns. Raised in the same way: a zone of an older program gets them when one of its objects changes.
/// - 13: the meta table may name locked caches, and what the readers of caches have not had yet; indexes and lists of unique attributes
///   may name to-one relationships; the meta table may name the origin of numbers, and originals. Raised in the same way.
package enum StoreLayout {
    package static let version: UInt32 = 13
    /// The oldest that is read.
    static let oldestVersion: UInt32 = 2

    static var encodedVersion: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendNumber(version)
        bytes.appendChecksum()
        return bytes
    }

    static let tables = [
        TableDescription(metaTable), TableDescription("records", .integers), TableDescription("log"),
        TableDescription("unique"), TableDescription("caches"), TableDescription("nodes", .integers),
    ]

    static let metaTable = "meta"
    static let formatKey = Array("format".utf8)
    static let modelKey = Array("model".utf8)
    static let stateKey = Array("state".utf8)
    static let buildKey = Array("build".utf8)
    static let maintainedKey = Array("maintained".utf8)
    static let unreadKey = Array("unread".utf8)
    static let lockedKey = Array("locked".utf8)
    static let identifierKey = Array("identifier".utf8)
    static let numbersKey = Array("numbers".utf8)
    static let originalsKey = Array("originals".utf8)

    static func entityKey(_ number: Int) -> [UInt8] {
        Array("entity".utf8) + [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }

    static func logKey(commit: UInt64, part: UInt32) -> [UInt8] {
        var key: [UInt8] = []
        key.appendBigEndian(commit)
        key.appendBigEndian(part)
        return key
    }

    static func uniqueKey(entity: Int, _ constraint: UniqueConstraint) -> [UInt8] {
        var key: [UInt8] = []
        beginUniqueKey(entity: entity, constraint, in: &key)
        return key
    }

    /// Leaves nothing else in `key`.
    static func beginUniqueKey(entity: Int, _ constraint: UniqueConstraint, in key: inout [UInt8]) {
        key.removeAll(keepingCapacity: true)
        key.appendBigEndian(UInt16(truncatingIfNeeded: constraint.owner?.entity ?? entity))
        key.appendBigEndian(UInt16(truncatingIfNeeded: constraint.owner?.number ?? constraint.number))
    }

    /// What all unique keys of an entity begin with.
    static func uniqueKeyPrefix(of entity: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: entity >> 8), UInt8(truncatingIfNeeded: entity)]
    }

    static func isKey(_ key: [UInt8], of constraint: UniqueConstraint, _ entity: Int) -> Bool {
        let number = constraint.owner?.number ?? constraint.number
        return self.entity(ofUniqueKey: key) == constraint.owner?.entity ?? entity
            && Int(key[2]) << 8 | Int(key[3]) == number
    }

    /// The entity that a unique key begins with; nil when the key is too short.
    static func entity(ofUniqueKey key: [UInt8]) -> Int? { entity(ofUniqueKey: key.span.bytes) }

    static func entity(ofUniqueKey key: RawSpan) -> Int? {
        guard key.byteCount >= 4 else { return nil }
        return Int(UInt16(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt16.self)))
    }
}

/// The opened tables of a store.
package struct StoreTables: Sendable {
    let meta: Table
    let records: Table
    let log: Table
    let unique: Table
    package let caches: Table
    package let nodes: Table

    init(_ environment: Environment, creating: Bool) throws {
        let tables = try environment.tables(StoreLayout.tables, creating: creating)
        guard tables.count == StoreLayout.tables.count else { throw LMDBError.corrupted }
        (meta, records, log) = (tables[0], tables[1], tables[2])
        (unique, caches, nodes) = (tables[3], tables[4], tables[5])
    }
}
