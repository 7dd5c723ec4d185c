package import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// Writes changes of objects as JSON lines, in the form that `ChangeFile` reads, into a buffer that the caller empties.
/// Relationships aren't written.
package struct DeltaWriter {
    /// The attribute that names objects; nil if their numbers do.
    private let key: String?
    package private(set) var bytes: [UInt8] = []
    package private(set) var count = 0

    package init(key: String?) { self.key = key }

    package mutating func removeWritten() { bytes.removeAll(keepingCapacity: true) }

    /// Writes all values of an inserted object, and the changed values of an updated one. Writes nothing if only
    /// relationships have changed.
    package mutating func append(_ change: ObjectChange) {
        let (old, new) = (change.oldValues ?? [:], change.newValues ?? [:])
        let changed = change.entity.attributes.map(\.name).filter { name in
            change.kind == .insert ? new[name] != nil : new[name] != old[name]
        }
        let derived = Set(change.entity.attributes.filter { $0.derivation != nil }.map(\.name))
        let written = changed.filter { !derived.contains($0) }
        if change.kind == .update && written.isEmpty { return }
        count += 1
        bytes += #"{"op":""#.utf8
        bytes += "\(change.kind)".utf8
        bytes.append(UInt8(ascii: "\""))
        // The key before the change. An insertion without a unique attribute has none.
        let unique = key.map { (change.oldValues ?? change.newValues)?[$0] ?? Value.null }
        let number = change.kind == .insert ? nil : Value.integer(Int64(change.objectID.number))
        if let key = key == nil ? number : unique {
            bytes += #","key":"#.utf8
            append(key)
        }
        if change.kind != .delete {
            bytes += #","values":"#.utf8
            append(new, of: written)
        }
        bytes += "}\n".utf8
    }

    private mutating func append(_ values: [String: Value], of names: [String]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, name) in names.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(.string(name))
            bytes.append(UInt8(ascii: ":"))
            append(values[name] ?? .null)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func append(_ value: Value) {
        if value.isNull {
            bytes += "null".utf8
        } else if value.isJSONLiteral {
            bytes += value.catalogueText.utf8
        } else {
            var text = value.catalogueText
            text.withUTF8 { CatalogueWriter.appendJSON(UnsafeRawBufferPointer($0), to: &bytes) }
        }
    }
}
