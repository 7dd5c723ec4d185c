internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexLMDB

/// The on-disk format: an LMDB environment with six tables. Numbers are little-endian unless a key says BE; LMDB's own
/// pages and its integer keys are in the machine's byte order. A checksum is the low half of the value's XXH3-64. Text
/// is UTF-8; `text` is its length as a varint (LEB128) and its bytes.
///
///     meta     "format"           version 4 | checksum 4
///              "model"            model | checksum 4                               -> Models/Coding/Model+Coding.swift
///              "state"            commit 8 | log start 8 | log bytes 8 | log limit 8 | model version 4
///                                   | LMDB transaction 8 (missing in version 2)
///                                   | [entity whose objects may lack unique keys 2 | number of the first of them 8]
///                                   | checksum 4
///              "identifier"       UUID 16 | checksum 4
///              "build"            cache 4 | checksum 4      while a cache is built in several transactions
///              "maintained"       names varint x text | checksum 4      caches that writers maintain
///              "unread"           caches varint x (name text | number of the cache varint | commit varint | reason text) | checksum 4
///                                   what exact readers haven't received: with a reason, the rebuild at the commit; otherwise the
///                                   changes after it, which trimming for caches keeps unless the number is 0
///                                                                       -> OrderCaches/Cache/CacheDirectory+Unread.swift
///              "locked"           caches varint x eight texts | checksum 4      locked caches
///                                                                                -> OrderCaches/Cache/CacheLock.swift
///              "source"           bytes | checksum 4     a source that is followed        -> Store/Attachment.swift
///              "source position"  bytes | checksum 4     the position up to which it was followed
///              "source/" name, "source position/" name      the same of further sources
///              "numbers"          origin | checksum 4     the store whose export filled this one
///                                                                              -> Copy/NumbersOrigin.swift
///                  origin         UUID 16 | entities varint x (entity varint | end varint)     end: after the origin's last object number
///              "originals"        origins | checksum 4     the stores that this one is a copy of, oldest first
///                                                                              -> Copy/CopyIdentity.swift
///              "entity" number 2  next object 8 | objects 8 | checksum 4
///              "zone" entity 2 BE | zone 8 BE     object numbers / 8,192       -> ScanSkipping/Zone.swift
///                                 objects varint | slots varint x bounds | [coded] | checksum 4 (XOR the key's)
///                  bounds         0: nothing is known, or type of value | 64 with nulls | 128 with values 1
///                                   with values: least | greatest, each length 1 | bytes of a bound key -> Bounds/BoundKey.swift
///                  coded          slots with columns varint x slot varint | changed objects varint x place varint | end varint
///                                   a place is an object number's index in the zone; places below `end` have codes;
///                                   without codes, `coded` is missing           -> Columns/CodedPlaces.swift
///              "column" entity 2 BE | zone 8 BE | slot 2 BE                        -> ScanSkipping/Columns/TextColumn.swift
///                                 length of a code 1 | texts varint x text | a code per place | checksum 4 (XOR the key's)
///     records  entity 16 bits | object 48 bits (integer key)
///                                 record                                           -> Record/RecordLayout.swift
///     log      commit 8 BE | 0000 time 8 | transaction 8 | author text | entities varint x
///                                   (entity, inserted, updated, deleted: varints) | checksum 4
///              commit 8 BE | part 4 BE  entries | checksum 4     (both: XOR the key's checksum)
///                  entry          1 | entity varint | first object varint | count varint        inserted
///                                 2 | entity varint | object varint | record length varint | old record    updated
///                                 3 | entity varint | object varint | record length varint | old record    deleted
///                                 4 | entity varint | object varint      inserted with a given, lower number
///     unique   entity 2 BE | attribute 2 BE | value as OrderKey
///              entity 2 BE | 32,768 + constraint 2 BE | values as OrderKeys
///                                 number | checksum 4      low 6 bytes: object number; high 2 bytes: 0, or the object's
///                                   entity if it isn't the key's; high bytes that are 0 are left out from version 10 on
///              32,768 + entity ... links                                            -> Links/LinkKey.swift
///                  keys of inherited attributes have the entity and attribute numbers of the topmost superentity that
///                  has them
///     caches   name               header                                           -> OrderCaches/Cache/CacheHeader.swift
///     nodes    cache 24 bits | node 40 bits (integer key)
///                                 node | [padding] | checksum 4 (XOR the key's)      -> CountedTree/Node/NodeLayout.swift
///
/// Invariants
/// - A commit is a group of changes of records, or a migration that needs a pass over records. Its number names the
///   state after it, and is one greater than the number of the commit before it, except after a repair of the state.
///   One transaction may have several commits.
/// - The log holds every insertion, update and deletion of an object after the commit `log start`, but not how a
///   migration rewrites records. An object that was inserted and changed within one commit appears as inserted only;
///   another object appears once per commit, with its first change. In the commits of the log, the object numbers that
///   an entity allocates ascend: objects whose numbers are at least the first number of an inserted range did not exist
///   before the range's commit. Other objects with lesser numbers have entries of their own.
/// - A reference in a record names an object, which may have been deleted if the relationship's inverse has the rule no
///   action. A link key leads from that object back to the record. It's derived from the reference.
/// - An inserted range may include objects that were deleted again in the same commit or later.
/// - A zone counts all objects with its object numbers, and its bounds, where they are known, include all values of
///   these objects. It may lack the slots of attributes that were added later.
/// - A column of a zone has the texts of the zone's objects in a slot, except for objects whose places the zone lists
///   as changed, and for places from the zone's `end` upwards. A zone has columns for exactly the slots that it lists.
/// - A cache's nodes belong to it alone; deleting the cache deletes them. Nodes with the number under "build" belong to
///   a build that is running, was killed or failed; the next build deletes them.
///
/// Versions
/// - 1: the first.
/// - 2: the values of unique keys have checksums; a commit in the log names the LMDB transaction that made it,
///   and the checksums of its parts cover their keys.
/// - 3: the state names the LMDB transaction that wrote it, and each transaction that writes anything writes the state.
///   The next such transaction raises a store of version 2 to version 3; after that, programs that know only version 2
///   refuse the store.
/// - 4: stores have identifiers, and models may have attributes that are unique together. Raised in the same way; the
///   same transaction gives the store its identifier.
/// - 5: attributes have permanent numbers: entities remember removed attributes, former names, default values and the
///   declarations that they followed. Raised in the same way.
/// - 6: models may have indexes and derived attributes, which writers maintain. Raised in the same way.
/// - 7: entities may be subentities of others. Raised in the same way.
/// - 8: the state may name an entity of which objects may lack their unique keys. Raised in the same way.
/// - 9: entities may have relationships. Link keys are in the table `unique`: a table of their own would have to be
///   created in stores that other processes have open. Raised in the same way.
/// - 10: the numbers in the values of new unique keys lack high bytes that are 0. Raised in the same way.
/// - 11: the meta table has zones. Raised in the same way. If an older program wrote the first objects of a zone, the
///   zone may be missing.
/// - 12: zones may have columns. Raised in the same way. Zones of older programs may get columns when their objects
///   change.
/// - 13: the meta table may have locked caches, unread changes of caches, the origin of numbers, and originals; indexes
///   and lists of unique attributes may name to-one relationships. Raised in the same way.
/// - 14: models may have former names of entities, and named requests; the log may have insertions of objects with
///   lower numbers than before. Raised in the same way.
/// - 15: a relationship may be its own inverse; writers store each of its links from both objects. Raised in the same way.
package enum StoreLayout {
    package static let version: UInt32 = 15
    /// The oldest version that is read.
    static let oldestVersion: UInt32 = 2

    static var encodedVersion: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendNumber(version)
        bytes.appendChecksum()
        return bytes
    }

    static let tables = [
        TableDescription(metaTable), TableDescription(recordsTable, .integers), TableDescription("log"),
        TableDescription("unique"), TableDescription("caches"), TableDescription("nodes", .integers),
    ]

    static let metaTable = "meta"
    static let recordsTable = "records"
    static let formatKey = Array("format".utf8)
    static let modelKey = Array("model".utf8)
    static let stateKey = Array("state".utf8)
    static let buildKey = Array("build".utf8)
    static let maintainedKey = Array("maintained".utf8)
    static let unreadKey = Array("unread".utf8)
    static let lockedKey = Array("locked".utf8)
    static let bookmarksKey = Array("bookmarks".utf8)
    static let rewriteKey = Array("rewrite".utf8)
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

    /// Replaces `key` with the prefix of a constraint's unique keys.
    static func beginUniqueKey(entity: Int, _ constraint: UniqueConstraint, in key: inout [UInt8]) {
        key.removeAll(keepingCapacity: true)
        key.appendBigEndian(UInt16(truncatingIfNeeded: constraint.owner?.entity ?? entity))
        key.appendBigEndian(UInt16(truncatingIfNeeded: constraint.owner?.number ?? constraint.number))
    }

    /// The prefix of the unique keys that begin with an entity's number.
    static func uniqueKeyPrefix(of entity: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: entity >> 8), UInt8(truncatingIfNeeded: entity)]
    }

    static func isKey(_ key: [UInt8], of constraint: UniqueConstraint, _ entity: Int) -> Bool {
        let number = constraint.owner?.number ?? constraint.number
        return self.entity(ofUniqueKey: key) == constraint.owner?.entity ?? entity
            && Int(key[2]) << 8 | Int(key[3]) == number
    }

    /// The number of the entity with which a unique key begins; nil if the key is too short.
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

    init(_ environment: Environment, creating: Bool, ignoringChecksums: Bool) throws {
        let tables = try environment.tables(
            StoreLayout.tables, creating: creating, ignoringChecksums: ignoringChecksums)
        guard tables.count == StoreLayout.tables.count else { throw LMDBError.corrupted }
        (meta, records, log) = (tables[0], tables[1], tables[2])
        (unique, caches, nodes) = (tables[3], tables[4], tables[5])
    }
}
