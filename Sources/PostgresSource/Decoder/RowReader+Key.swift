internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexPlatform
package import FetchIndexValues

// The keys of rows, and the errors that name a row by its key.
extension RowReader {
    func hasKey(_ row: [StreamedValue]) -> Bool { keyColumnPlaces.allSatisfy { row[$0] != .null } }

    /// Returns the key of a row. Throws `SourceError` if one of its values is null, wasn't sent, or isn't of its column's
    /// type.
    package func key(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) throws -> [Value] {
        try keyParts.map { part in
            switch part {
            case .column(let place): try keyValue(row, bytes, place, of: place)
            case .digest: wholeRow?.digest ?? digest(row, bytes)
            case .sourceName: sourceName
            }
        }
    }

    /// Returns the key that the values at the beginning of a row make, in the order of the followed table's key columns.
    func notedKey(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) throws -> [Value] {
        try keyParts.map { part in
            guard case .column(let place) = part else { return sourceName }
            return try keyValue(row, bytes, keyColumnPlaces.firstIndex(of: place) ?? 0, of: place)
        }
    }

    private func keyValue(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ place: Int, of keyPlace: Int
    ) throws -> Value {
        guard case .text(let range) = row[place], let column = columns[keyPlace] else {
            throw SourceError(
                .lost,
                "the source has sent a row of \(title) without its \(columns[keyPlace]?.name ?? "key"): the table's REPLICA IDENTITY may have "
                    + "been another one when the row changed")
        }
        let text = UnsafeRawBufferPointer(rebasing: bytes[range])
        guard let value = ColumnValue.value(text, as: column.type) else {
            throw unstorable(column, row, bytes, text)
        }
        return value
    }

    /// The digest of a row of a table without a key, in the order of the entity's slots: the first 16 bytes of the SHA-256
    /// of each text's length, or -1 for null, and the text.
    func digest(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) -> Value {
        var texts: [UInt8] = []
        for place in digestPlaces {
            guard case .text(let range) = row[place] else {
                texts.appendNumber(Int64(-1))
                continue
            }
            texts.appendNumber(Int64(range.count))
            texts.append(contentsOf: bytes[range])
        }
        var digest: [UInt8] = []
        Fingerprint(of: texts.span.bytes).append(to: &digest)
        return digest.withUnsafeBytes { .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self))) }
    }

    /// Returns the source's texts of the key's columns, in the order of the followed table's key columns; empty texts for
    /// values that the row lacks.
    func keyTexts(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) -> [String] {
        texts(row, bytes, keyColumnPlaces)
    }

    private func texts(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ places: [Int]) -> [String] {
        places.map { place in
            guard case .text(let range) = row[place] else { return "" }
            return String(decoding: bytes[range], as: UTF8.self)
        }
    }

    /// Returns the key for texts of the followed table's key columns, in their order; nil if they aren't of the columns'
    /// types.
    func key(ofTexts texts: [String]) -> [Value]? {
        guard texts.count == keyColumnPlaces.count else { return nil }
        let values = keyParts.map { part -> Value? in
            guard case .column(let place) = part else { return sourceName }
            guard let index = keyColumnPlaces.firstIndex(of: place), let column = columns[place] else { return nil }
            var text = texts[index]
            return text.withUTF8 { ColumnValue.value(UnsafeRawBufferPointer($0), as: column.type) }
        }
        return values.contains { $0 == nil } ? nil : values.compactMap(\.self)
    }

    /// Returns the key by which a table remembers a row that is left out.
    func omittedKey(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) -> String {
        keyColumnPlaces.isEmpty ? "\(digest(row, bytes))" : UnstorableRow.key(keyTexts(row, bytes))
    }

    /// Returns that key, and the key as messages show it.
    func omittedKeys(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) -> (omitted: String, text: String) {
        (omittedKey(row, bytes), keyText(row, bytes))
    }

    /// Returns that key for the values at the beginning of a row, like `notedKey`.
    func notedOmittedKey(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) -> String {
        UnstorableRow.key(
            keyColumnPlaces.indices.map { place in
                if case .text(let range) = row[place] { return String(decoding: bytes[range], as: UTF8.self) }
                return ""
            })
    }

    /// Performs a write. Throws `UnstorableRow` if the row can't be written.
    func writing<Result>(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ write: () throws -> Result
    ) throws -> Result {
        do { return try write() } catch let error as RefusedRow {
            throw refused(error, omittedKey(row, bytes), keyText(row, bytes))
        }
    }

    /// The error for a row that can't be written. `key` is its `omittedKey`.
    func refused(_ error: RefusedRow, _ key: String, _ text: String) -> UnstorableRow {
        switch error {
        case .heldKey(let holder):
            UnstorableRow(
                key: key, reason: "\(title): the source \(holder) has a row with the key \(text), too",
                column: keyColumnPlaces.first.flatMap { columns[$0]?.name } ?? "", isHeld: true)
        case .tooLong(let attribute):
            UnstorableRow(
                key: key,
                reason: "\(title).\(attribute) of the row with the key \(text) is too long to be found by foreign keys",
                column: attribute)
        }
    }

    func unstorable(
        _ place: Int, _ type: ValueType, _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer,
        _ text: UnsafeRawBufferPointer
    ) -> any Error {
        let name = columns[place]?.name ?? ""
        let error = unstorable((name, type), row, bytes, text)
        if keyColumnPlaces.contains(place) { return error }
        return UnstorableRow(key: omittedKey(row, bytes), reason: error.reason, column: name)
    }

    /// Returns the key of a row as messages show it.
    func keyText(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer) -> String {
        let values = keyColumnPlaces.isEmpty ? texts(row, bytes, digestPlaces) : keyTexts(row, bytes)
        let text = values.joined(separator: ", ")
        return text.count <= 100 ? text : text.prefix(100) + "…"
    }

    private func unstorable(
        _ column: (name: String, type: ValueType), _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer,
        _ text: UnsafeRawBufferPointer
    ) -> SourceError {
        SourceError(
            .refused,
            "\(title).\(column.name) of the row with the key \(keyText(row, bytes)) \(ColumnValue.reason(text, column.type))",
            remedy: .changeValue(entity: entity.name, columns: [column.name]))
    }
}
