package import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// Writes changes of objects as JSON lines, in the form that `ChangeFile` reads. Relationships aren't written.
package struct DeltaWriter {
    /// What lines about an entity's objects have in common.
    private struct Form {
        let entity: String
        /// The index of the key among the entity's attributes; nil if objects are named by their numbers.
        let key: Int?
        /// The names as JSON, followed by a colon; nil for derived attributes, which can't be written.
        let members: [[UInt8]?]
    }

    /// The attribute that names objects; nil if their numbers do.
    private let key: String?
    private var form: Form?
    private var bytes: [UInt8] = []
    package private(set) var count = 0
    /// The number of changes that weren't written because their objects have no key.
    package private(set) var unnamedCount = 0
    /// The number of inserted and updated objects with changes of relationships, which weren't written.
    package private(set) var relatedCount = 0

    package init(key: String?) { self.key = key }

    /// Writes changes in pieces. Deletions come first, so that another object can take a unique value of a deleted one;
    /// `forEachChange` is therefore called twice, each time with the kinds of changes that it must pass to its body. It
    /// may pass others too. Rethrows its errors, and the errors of `output`.
    package mutating func write(
        _ forEachChange: @escaping (_ kinds: Set<ChangeKind>, (ObjectChange) throws -> Void) throws -> Void,
        to output: ([UInt8]) throws -> Void
    ) throws {
        for kinds in [[.delete], [.insert, .update, .move]] as [Set<ChangeKind>] {
            try forEachChange(kinds) { change in
                guard kinds.contains(change.kind) else { return }
                append(change)
                guard bytes.count >= Self.pieceLength else { return }
                try output(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        try output(bytes)
        bytes.removeAll()
    }

    private static let pieceLength = 1 << 18

    /// Writes all values of an inserted object, and the changed values of an updated one. Writes nothing if only
    /// relationships or derived attributes have changed.
    private mutating func append(_ change: ObjectChange) {
        if !change.changedRelationships.isEmpty { relatedCount += 1 }
        let form = form(of: change.entity)
        let (old, new) = (change.oldValues, change.newValues)
        func isWritten(_ index: Int) -> Bool {
            form.members[index] != nil && (old == nil || old?[index] != new?[index])
        }
        let first = form.members.indices.first(where: isWritten)
        if change.kind == .update && first == nil { return }
        let unique: Value? = form.key.map { (old ?? new)?[$0] ?? .null }
        if unique == .null && change.kind != .insert {
            unnamedCount += 1
            return
        }
        count += 1
        bytes += Self.start(of: change.kind)
        // The key before the change. An insertion without a unique attribute has none.
        let number: Value? = change.kind == .insert ? .none : .integer(Int64(change.objectID.number))
        if let key = unique ?? number, key != .null {
            bytes += Self.keyMember
            append(key)
        }
        if let new {
            bytes += Self.valuesMember
            for index in (first ?? form.members.count)..<form.members.count where index == first || isWritten(index) {
                if index != first { bytes.append(UInt8(ascii: ",")) }
                bytes += form.members[index] ?? []
                append(new[index])
            }
            bytes.append(UInt8(ascii: "}"))
        }
        bytes += Self.end
    }

    // Appending an array costs less than appending a text's UTF-8.
    private static let starts = ["insert", "delete", "update"].map { Array(#"{"op":"\#($0)""#.utf8) }
    private static let keyMember = Array(#","key":"#.utf8)
    private static let valuesMember = Array(#","values":{"#.utf8)
    private static let end = Array("}\n".utf8)

    private static func start(of kind: ChangeKind) -> [UInt8] {
        switch kind {
        case .insert: starts[0]
        case .delete: starts[1]
        case .update, .move: starts[2]
        }
    }

    private mutating func form(of entity: Entity) -> Form {
        if let form, form.entity == entity.name { return form }
        let made = Form(
            entity: entity.name, key: entity.attributes.firstIndex { $0.name == key },
            members: entity.attributes.map { attribute in
                if attribute.derivation != nil { return nil }
                var member: [UInt8] = []
                var name = attribute.name
                name.withUTF8 { CatalogueWriter.appendJSON(UnsafeRawBufferPointer($0), to: &member) }
                return member + [UInt8(ascii: ":")]
            })
        form = made
        return made
    }

    private mutating func append(_ value: Value) {
        var text = value.isNull ? "null" : value.catalogueText
        let isLiteral = value.isNull || value.isJSONLiteral
        text.withUTF8 { text in
            if isLiteral {
                bytes.append(contentsOf: text)
            } else {
                CatalogueWriter.appendJSON(UnsafeRawBufferPointer(text), to: &bytes)
            }
        }
    }
}
