internal import FetchIndexPlatform

extension Model {
    package init(decoding bytes: RawSpan) throws {
        var reader = try ByteReader(checked: bytes, subject: { "the model" }, damage: ModelError.corrupted)
        var entities: [StoredEntity] = []
        var requests: [NamedRequest] = []
        for _ in 0..<(try reader.count()) { entities.append(try StoredEntity(&reader)) }
        if !reader.isAtEnd { try entities.readUniqueLists(&reader) }
        if !reader.isAtEnd { try entities.readHistories(&reader) }
        if !reader.isAtEnd { try entities.readIndexes(&reader) }
        if !reader.isAtEnd { try entities.readLineages(&reader) }
        if !reader.isAtEnd { try entities.readRelationships(&reader) }
        if !reader.isAtEnd {
            try entities.readNames(&reader)
            for _ in 0..<(try reader.count()) { requests.append(try NamedRequest(&reader)) }
        }
        guard reader.isAtEnd else { throw ModelError.corrupted("the model has more bytes than this version can read") }
        self.init(entities: entities.map(\.entity), requests: requests)
    }

    static func entityNumber(_ reader: inout ByteReader, of count: Int) throws -> Int {
        let number = Int(clamping: try reader.varint())
        guard number < count else { throw ModelError.corrupted("the model refers to an unknown entity") }
        return number
    }
}

extension [StoredEntity] {
    private func number(_ reader: inout ByteReader) throws -> Int { try Model.entityNumber(&reader, of: count) }

    fileprivate mutating func readUniqueLists(_ reader: inout ByteReader) throws {
        for _ in 0..<(try reader.count()) { try self[number(&reader)].readUniqueList(&reader) }
    }

    fileprivate mutating func readHistories(_ reader: inout ByteReader) throws {
        guard try reader.count() == count else {
            throw ModelError.corrupted("the model has another number of histories than of entities")
        }
        for number in indices { try self[number].readHistory(&reader) }
    }

    fileprivate mutating func readIndexes(_ reader: inout ByteReader) throws {
        for _ in 0..<(try reader.count()) { try self[number(&reader)].readIndex(&reader) }
        for _ in 0..<(try reader.count()) { try self[number(&reader)].readDerivation(&reader) }
    }

    fileprivate mutating func readLineages(_ reader: inout ByteReader) throws {
        for _ in 0..<(try reader.count()) {
            let number = try number(&reader)
            let parent = Int(clamping: try reader.varint()) - 1
            guard parent < count, parent != number else {
                throw ModelError.corrupted("\(self[number].name) has itself or an unknown entity as its superentity")
            }
            self[number].superentity = parent < 0 ? nil : self[parent].name
            self[number].isAbstract = try reader.uint8() != 0
        }
    }

    fileprivate mutating func readRelationships(_ reader: inout ByteReader) throws {
        let count = count
        for _ in 0..<(try reader.count()) { try self[number(&reader)].readRelationship(&reader, entities: count) }
        for _ in 0..<(try reader.count()) { self[try number(&reader)].isJoin = true }
    }

    fileprivate mutating func readNames(_ reader: inout ByteReader) throws {
        for _ in 0..<(try reader.count()) { try self[number(&reader)].readNames(&reader) }
    }
}

extension NamedRequest {
    fileprivate init(_ reader: inout ByteReader) throws {
        self.init(
            try reader.text(), entity: try reader.text(), predicate: try reader.text(),
            fetchLimit: Int(clamping: try reader.varint()))
    }
}
