package import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// Applies lines of a change file in the open transaction of a writer.
package final class ChangeApplier {
    private let writer: BatchWriter
    private let key: String?
    private let file: String
    private let isJSON: Bool
    private let (ignoresMissing, ignoresPresent): (Bool, Bool)
    /// The number of changes that were ignored.
    package private(set) var ignoredCount = 0
    /// The indexes of the attributes that are in unique constraints, among the entity's attributes.
    private let keys: Set<Int>
    /// The spellings of keys in the members `key` and `values`, which may differ.
    private var (keySpellings, valueSpellings) = (KeySpellings(), KeySpellings())
    /// The changes that wait for the end of the transaction.
    private var waiting = WaitingChanges()

    package init(
        _ writer: BatchWriter, key: String?, file: String, isJSON: Bool = true, ignoresMissing: Bool,
        ignoresPresent: Bool
    ) {
        self.isJSON = isJSON
        self.writer = writer
        let slots = Set(writer.entity.uniqueConstraints.flatMap(\.slots))
        keys = Set(writer.entity.attributeSlots.enumerated().filter { slots.contains($1) }.map(\.offset))
        self.key = key
        self.file = file
        (self.ignoresMissing, self.ignoresPresent) = (ignoresMissing, ignoresPresent)
    }

    /// Applies the change of a line; `number` is the line's number. If another object has one of its unique values, the
    /// change may wait until `endTransaction`. Throws `BadInput` if the line is at fault, and `StoreError` if the store
    /// is.
    package func apply(_ change: ChangeLine, _ number: Int) throws {
        do {
            try applyOrWait(change, number)
        } catch let error as StoreError where error.isOfValues {
            throw bad(number)(error.description)
        }
    }

    private func bad(_ line: Int) -> (String) -> BadInput { { [file] in BadInput(file: file, line: line, reason: $0) } }

    private func applyOrWait(_ change: ChangeLine, _ number: Int) throws {
        let bad = bad(number)
        var object: ObjectID?
        do {
            switch change.operation {
            case .insert: try insert(change, bad)
            case .update:
                object = try stored(change, bad)
                if let object, !waiting.add(change, number, ifWaiting: object) { try update(object, change, bad) }
            case .upsert:
                guard key != nil else {
                    throw bad("\"upsert\" needs a unique attribute, but \(writer.entity.name) has none")
                }
                object = try find(change, bad)
                try requireKey(of: change, bad)
                if let object {
                    if !waiting.add(change, number, ifWaiting: object) { try update(object, change, bad) }
                } else {
                    try insert(change, bad)
                }
            case .delete:
                guard let object = try stored(change, bad) else { return }
                waiting.remove(object)
                try writer.delete(object)
            }
        } catch StoreError.notUnique(_, let attribute, _)
            // A file whose objects are all inserted already is refused at its first line.
            where writer.canReleaseUniqueValues && (object != nil || attribute != key)
        {
            waiting.add(change, number, of: object)
        }
    }

    /// Makes the changes that wait, before the transaction is committed: by now other changes may have freed their unique
    /// values, and updates may exchange them. Throws like `apply`; the transaction must then be rolled back.
    package func endTransaction() throws {
        if waiting.isEmpty { return }
        let changes = waiting
        waiting = WaitingChanges()
        let updates = try changes.updates.map { object, lines in
            var values = try writer.values(of: object)
            for (change, number) in lines {
                try set(change.values, in: &values, spellings: &valueSpellings, bad(number))
            }
            return (object: object, values: values, line: lines.last?.number ?? 0)
        }
        try writer.releaseUniqueValues(for: updates.lazy.map { (object: $0.object, values: $0.values) })
        for update in updates { try refusing(update.line) { try writer.update(update.object, update.values) } }
        for (change, number) in changes.insertions { try refusing(number) { try insert(change, bad(number)) } }
    }

    private func refusing(_ line: Int, _ body: () throws -> Void) throws {
        do { try body() } catch let error as StoreError where error.isOfValues { throw bad(line)(error.description) }
    }

    private func insert(_ change: ChangeLine, _ bad: (String) -> BadInput) throws {
        var values = writer.entity.attributes.map(\.defaultValue)
        if let scalar = change.key {
            guard let key else {
                throw bad(
                    "\"key\" of an insertion needs a unique attribute, but \(writer.entity.name) has none; without "
                        + "\"key\" the object gets the next number")
            }
            try requireKey(of: change, bad)
            try set([key: scalar], in: &values, spellings: &keySpellings, bad)
        }
        try set(change.values, in: &values, spellings: &valueSpellings, bad)
        if ignoresPresent, let keySlot, !values[keySlot].isNull, try writer.object(key: values[keySlot]) != nil {
            ignoredCount += 1
            return
        }
        try writer.insert(values)
    }

    /// Throws if the member `values` has another key than the member `key`.
    private func requireKey(of change: ChangeLine, _ bad: (String) -> BadInput) throws {
        guard let key, let keySlot, let scalar = change.key, let said = change.values[key] else { return }
        let type = writer.entity.attributes[keySlot].type
        if said.value(as: type) == scalar.value(as: type) { return }
        throw bad("\"key\" is \(scalar.shown), but \"values\" say \(key) \(said.shown)")
    }

    private func update(_ object: ObjectID, _ change: ChangeLine, _ bad: (String) -> BadInput) throws {
        var values = try writer.values(of: object)
        try set(change.values, in: &values, spellings: &valueSpellings, bad)
        try writer.update(object, values)
    }

    /// The index of the key among the attributes.
    private var keySlot: Int? { key.flatMap { key in writer.entity.attributes.firstIndex { $0.name == key } } }

    /// Returns the object of an update or a deletion; nil if it's missing and the change is ignored.
    private func stored(_ change: ChangeLine, _ bad: (String) -> BadInput) throws -> ObjectID? {
        if let object = try find(change, bad) { return object }
        guard !ignoresMissing else {
            ignoredCount += 1
            return nil
        }
        let text = change.key?.text.excerpt ?? ""
        throw bad("there is no \(writer.entity.name) with \(key.map { "\($0) \"\(text)\"" } ?? "number \(text)")")
    }

    private func find(_ change: ChangeLine, _ bad: (String) -> BadInput) throws -> ObjectID? {
        guard let scalar = change.key else { throw bad("\"\(change.operation)\" needs a \"key\"") }
        if let keySlot {
            let type = writer.entity.attributes[keySlot].type
            guard let value = scalar.value(as: type), !value.isNull else {
                throw bad("\"key\" \(type.refusal(of: scalar.text))")
            }
            try requireSpelling(scalar, of: value, keySlot, &keySpellings, bad)
            return try writer.object(key: value)
        }
        guard case .integer(let number) = scalar.value(as: .integer), scalar.text == String(number) else {
            throw bad("there is no \(writer.entity.name) with number \(scalar.text.excerpt)")
        }
        return try writer.object(number: UInt64(clamping: number))
    }

    private func set(
        _ given: [String: JSONScalar], in values: inout [Value], spellings: inout KeySpellings,
        _ bad: (String) -> BadInput
    ) throws {
        for (name, scalar) in given.sorted(by: { $0.key < $1.key }) {
            guard let slot = writer.entity.attributes.firstIndex(where: { $0.name == name }) else {
                let near = writer.entity.nearName(to: name).hint
                throw bad("\(writer.entity.name) has no attribute \"\(name.excerpt)\"\(near)")
            }
            let type = writer.entity.attributes[slot].type
            guard let value = scalar.value(as: type) else {
                throw bad("\"\(scalar.text.excerpt)\" for \(name) \(type.refusal(of: scalar.text))")
            }
            if keys.contains(slot), !value.isNull { try requireSpelling(scalar, of: value, slot, &spellings, bad) }
            values[slot] = value
        }
    }

    /// Throws if `KeySpellings` refuses the spelling of a unique value.
    private func requireSpelling(
        _ scalar: JSONScalar, of value: Value, _ slot: Int, _ spellings: inout KeySpellings,
        _ bad: (String) -> BadInput
    ) throws {
        let fault = spellings.fault(scalar.text, of: value, isLiteral: scalar.isLiteral, inJSON: isJSON, column: slot)
        if let fault { throw bad(fault) }
    }
}

extension JSONScalar {
    /// The scalar as JSON, shortened.
    fileprivate var shown: String {
        if case .string(let text) = self { return "\"\(text.excerpt)\"" }
        return self == .null ? "null" : text.excerpt
    }
}
