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
        let (old, new) = (change.oldValues, change.newValues)
        let attributes = change.entity.attributes
        let written = attributes.indices.filter { index in
            guard attributes[index].derivation == nil else { return false }
            return old == nil || old?[index] != new?[index]
        }
        if change.kind == .update && written.isEmpty { return }
        count += 1
        bytes += #"{"op":""#.utf8
        bytes += "\(change.kind)".utf8
        bytes.append(UInt8(ascii: "\""))
        // The key before the change. An insertion without a unique attribute has none.
        let unique = attributes.firstIndex { $0.name == key }.flatMap { (old ?? new)?[$0] }
        let number = change.kind == .insert ? nil : Value.integer(Int64(change.objectID.number))
        if let key = key == nil ? number : unique {
            bytes += #","key":"#.utf8
            append(key)
        }
        if change.kind != .delete {
            bytes += #","values":"#.utf8
            append(new ?? [], of: attributes, written)
        }
        bytes += "}\n".utf8
    }

    private mutating func append(_ values: [Value], of attributes: [AttributeDescription], _ written: [Int]) {
        bytes.append(UInt8(ascii: "{"))
        for index in written where values.indices.contains(index) {
            if index != written.first { bytes.append(UInt8(ascii: ",")) }
            append(.string(attributes[index].name))
            bytes.append(UInt8(ascii: ":"))
            append(values[index])
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
