internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexLMDB
internal import FetchIndexValues

extension StoreWriter {
    /// Makes a unique key like `uniqueKey(_:_:_:)`. Throws `uniqueValueTooLong` if it exceeds LMDB's maximum length.
    func storableUniqueKey(_ entity: Int, _ constraint: UniqueConstraint, _ record: RawSpan) throws -> [UInt8]? {
        guard let key = try uniqueKey(entity, constraint, record) else { return nil }
        guard key.count <= Table.maximumKeyLength else { throw uniqueValueTooLong(entity, constraint) }
        return key
    }

    func uniqueValueTooLong(_ entity: Int, _ constraint: UniqueConstraint) -> StoreError {
        let entity = model.entities[entity]
        return .uniqueValueTooLong(entity: entity.name, attribute: entity.name(of: constraint))
    }

    /// The unique keys of a record, in the order of the entity's constraints; nil for a constraint if one of its values
    /// is null. Throws `uniqueValueTooLong` if a key exceeds LMDB's maximum length. Also throws like
    /// `requireUniqueKeys`.
    func uniqueKeys(_ entity: Int, _ record: RawSpan) throws -> [[UInt8]?] {
        try requireUniqueKeys(of: entity)
        return try model.entities[entity].uniqueConstraints.map { try storableUniqueKey(entity, $0, record) }
    }

    /// Throws `notUnique` if another object has one of a record's unique keys. Keys that the old record has too aren't
    /// looked up.
    func checkUnique(
        _ keys: [[UInt8]?], of entity: Int, _ record: RawSpan, except object: RecordKey? = nil, old: [[UInt8]?] = []
    ) throws {
        for (index, key) in keys.enumerated() {
            guard let key, index >= old.count || old[index] != key,
                let found = try self.object(unique: key), found != object
            else { continue }
            throw try notUnique(entity, model.entities[entity].uniqueConstraints[index], record)
        }
    }

    /// The error to throw if another object has a record's unique value.
    func notUnique(_ entity: Int, _ constraint: UniqueConstraint, _ record: RawSpan) throws -> StoreError {
        let entity = model.entities[entity]
        let view = try RecordView(record, of: entity)
        let values = try constraint.slots.map { slot in
            let value = try view.value(at: slot, as: entity.type(at: slot))
            guard case .integer(let number) = value, entity.slots[slot].role == .reference else { return "\(value)" }
            return name(of: RecordKey(reference: number))
        }
        return .notUnique(
            entity: entity.name, attribute: entity.name(of: constraint), value: values.joined(separator: ", "))
    }

    /// The object that has a record's values of a constraint; nil if there isn't one, or if a value is null. O(log n).
    package func object(_ entity: Int, _ constraint: UniqueConstraint, inRecord record: RawSpan) throws -> RecordKey? {
        try storableUniqueKey(entity, constraint, record).flatMap { try object(unique: $0) }
    }

    /// The object that has one of a record's unique values. If several objects have one, the first constraint decides.
    /// Returns nil if that object is of another entity. O(log n).
    package func object(_ entity: Int, withUniqueValueOf record: RawSpan) throws -> RecordKey? {
        for constraint in model.entities[entity].uniqueConstraints {
            if let key = try storableUniqueKey(entity, constraint, record),
                let object = try self.object(unique: key)
            {
                // A record can't update an object of another entity. Inserting it throws `notUnique`.
                guard object.entity == entity else { return nil }
                let isFound = try self.record(object) { try requireUniqueKey(key, constraint, of: object, $0) }
                if !isFound { throw wrongUniqueKey(constraint, to: object) }
                return object
            }
        }
        return nil
    }

    /// Writes an object's unique keys, and deletes those that only its old record has.
    func putUniqueKeys(_ keys: [[UInt8]?], of object: RecordKey, replacing old: [[UInt8]?] = []) throws {
        for (index, key) in keys.enumerated() {
            if index < old.count, let oldKey = old[index] {
                if oldKey == key { continue }
                // If another object has taken over the old key, the key stays.
                if try self.object(unique: oldKey) == object {
                    try view.delete(oldKey, in: tables.unique)
                }
            }
            if let key { try putUniqueKey(key, of: object) }
        }
    }

    func putUniqueKey(_ key: [UInt8], of object: RecordKey) throws {
        let key = key.span.bytes
        try Self.withUniqueValue(of: object, under: key) { try view.put($0, for: key, in: tables.unique) }
    }

    /// Calls the body with the value of a unique key that leads to `object`. The value is the object's number, with its
    /// entity if that isn't the key's, without high bytes that are 0, and a checksum. It isn't an array, because an
    /// array would be allocated for each row of an import.
    static func withUniqueValue<Result>(
        of object: RecordKey, under key: RawSpan, _ body: (RawSpan) throws -> Result
    ) rethrows -> Result {
        let isOwn = StoreLayout.entity(ofUniqueKey: key) == object.entity
        let number = isOwn ? object.number : object.rawValue
        let length = (UInt64.bitWidth - number.leadingZeroBitCount + 7) / 8
        var value = (number.littleEndian, UInt64(0))
        return try withUnsafeMutableBytes(of: &value) { value in
            let checksum = UnsafeRawBufferPointer(rebasing: value[..<length]).bytes.checksum
            value.storeBytes(of: checksum.littleEndian, toByteOffset: length, as: UInt32.self)
            return try body(UnsafeRawBufferPointer(rebasing: value[..<(length + 4)]).bytes)
        }
    }

    /// Deletes the unique keys that an object's new record will no longer have, so that other objects can take these
    /// values before this object is updated.
    package func releaseUniqueKeys(of object: RecordKey, _ old: RawSpan, for new: RawSpan) throws {
        for constraint in model.entities[object.entity].uniqueConstraints {
            guard let key = try storableUniqueKey(object.entity, constraint, old),
                try key != storableUniqueKey(object.entity, constraint, new)
            else { continue }
            try view.delete(key, in: tables.unique)
        }
    }

    /// Deletes the unique keys of a record that lead to other objects than `object`, so that it can take these values
    /// before the other objects lose them. Returns the other objects. The caller must give them other values, or delete
    /// them, and check this by `requireOwnUniqueKeys`.
    package func takeUniqueKeys(of record: RawSpan, for object: RecordKey) throws -> [RecordKey] {
        var others: [RecordKey] = []
        for key in try uniqueKeys(object.entity, record) {
            guard let key, let other = try self.object(unique: key), other != object else { continue }
            try view.delete(key, in: tables.unique)
            others.append(other)
        }
        return others
    }

    /// Throws `notUnique` if a stored object lacks one of its unique keys, because another object has taken it.
    package func requireOwnUniqueKeys(of object: RecordKey) throws {
        guard let record = try copy(of: object) else { return }
        for (index, key) in try uniqueKeys(object.entity, record.span.bytes).enumerated() {
            if let key, try self.object(unique: key) != object {
                throw try notUnique(
                    object.entity, model.entities[object.entity].uniqueConstraints[index], record.span.bytes)
            }
        }
    }

    func deleteUniqueKeys(of object: RecordKey, _ record: RawSpan) throws {
        for constraint in model.entities[object.entity].uniqueConstraints {
            if let key = try storableUniqueKey(object.entity, constraint, record) {
                try view.delete(key, in: tables.unique)
            }
        }
    }
}
