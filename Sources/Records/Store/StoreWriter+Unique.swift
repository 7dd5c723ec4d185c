internal import LMDB
internal import Values

extension StoreWriter {
    /// The unique key of a record's slot; nil when the value is null, which is never a key.
    func uniqueKey(_ entity: Int, _ slot: Int, _ record: RawSpan) throws -> [UInt8]? {
        let view = try RecordView(record)
        guard try view.range(of: slot) != nil else { return nil }
        let attribute = model.entities[entity].attributes[slot]
        var key = StoreLayout.uniqueKey(entity: entity, slot: slot)
        try view.appendOrderKey(of: slot, as: attribute.type, to: &key)
        guard key.count <= Table.maximumKeyLength else {
            throw StoreError.uniqueValueTooLong(entity: model.entities[entity].name, attribute: attribute.name)
        }
        return key
    }

    /// Throws when another object has a unique value of the record.
    func checkUnique(_ entity: Int, _ record: RawSpan, except object: ObjectID?) throws {
        for slot in uniqueSlots(entity) {
            guard let key = try uniqueKey(entity, slot, record), let found = try self.object(entity, unique: key),
                found != object
            else { continue }
            let attribute = model.entities[entity].attributes[slot]
            let value = try RecordView(record).value(at: slot, as: attribute.type)
            throw StoreError.notUnique(
                entity: model.entities[entity].name, attribute: attribute.name, value: "\(value)")
        }
    }

    /// Enters an object's unique values, in the place of its old record's.
    func putUniqueKeys(of object: ObjectID, _ record: RawSpan, replacing old: [UInt8]?) throws {
        for slot in uniqueSlots(object.entity) {
            let newKey = try uniqueKey(object.entity, slot, record)
            if let old, let oldKey = try uniqueKey(object.entity, slot, old.span.bytes) {
                if oldKey == newKey { continue }
                // Another object may have taken it over already.
                if try self.object(object.entity, unique: oldKey) == object {
                    try view.delete(oldKey.span.bytes, in: tables.unique)
                }
            }
            if let newKey { try putUniqueKey(newKey, of: object) }
        }
    }

    func putUniqueKey(_ key: [UInt8], of object: ObjectID) throws {
        var number: [UInt8] = []
        number.appendNumber(object.number)
        number.appendChecksum()
        try view.put(number.span.bytes, for: key.span.bytes, in: tables.unique)
    }

    /// Frees the unique values that an object's new record gives up, so that others may take them before it is updated.
    package func releaseUniqueKeys(of object: ObjectID, _ old: RawSpan, for new: RawSpan) throws {
        for slot in uniqueSlots(object.entity) {
            guard let key = try uniqueKey(object.entity, slot, old), try key != uniqueKey(object.entity, slot, new)
            else { continue }
            try view.delete(key.span.bytes, in: tables.unique)
        }
    }

    func deleteUniqueKeys(of object: ObjectID, _ record: RawSpan) throws {
        for slot in uniqueSlots(object.entity) {
            if let key = try uniqueKey(object.entity, slot, record) {
                try view.delete(key.span.bytes, in: tables.unique)
            }
        }
    }

    private func uniqueSlots(_ entity: Int) -> [Int] { model.entities[entity].uniqueSlots }
}
