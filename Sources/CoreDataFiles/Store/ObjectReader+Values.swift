internal import FetchIndexEssentials
internal import FetchIndexValues

// The values of attributes, as Core Data stores them: the article CoreDataLayout says how.
extension ObjectReader {
    /// The value of an attribute in a row. A value that the attribute's type doesn't have becomes null, and is noted.
    /// Throws `CoreDataFileError` if a large value's file has gone meanwhile.
    func value(
        _ row: StoreDatabase.Row, _ index: Int, _ column: StoreSchema.AttributeColumn, _ attribute: String,
        of object: Object
    ) throws -> Value {
        // A case for each pair of an attribute's type and a kind of stored value.
        let kind = row.kind(index)
        if kind == .null { return .null }
        let title = { "\(self.name(of: object)).\(attribute)" }
        func misfit() -> Value {
            note(.leftOut, "values that are not \(column.type.nameWithArticle), which become null", title())
            return .null
        }
        switch (column.type, kind) {
        case (.integer, .integer), (.boolean, .integer):
            guard let number = row.integer(index) else { return misfit() }
            return column.type == .integer ? .integer(number) : .boolean(number != 0)
        case (.integer, .real), (.boolean, .real):
            guard let number = Int64(exactly: row.double(index)) else { return misfit() }
            return column.type == .integer ? .integer(number) : .boolean(number != 0)
        case (.double, .integer), (.double, .real): return .double(row.double(index))
        case (.date, .integer), (.date, .real):
            return .date(Date(timeIntervalSinceReferenceDate: row.double(index)))
        case (.decimal, .integer): return row.integer(index).map { .decimal(Decimal($0)) } ?? .null
        case (.decimal, .real): return Value("\(row.double(index))", as: .decimal).flatMap(storable) ?? misfit()
        case (.decimal, .text) where row.text(index) == "NaN":
            note(.leftOut, "decimals that are not a number, which become null", title())
            return .null
        case (.decimal, .text): return row.text(index).flatMap { Value($0, as: .decimal) }.flatMap(storable) ?? misfit()
        case (.string, .bytes) where column.isDecoded, (.string, .text) where column.isDecoded:
            return decoded(row.bytes(index), attribute, of: object)
        case (.string, .text):
            guard let (text, isValid) = row.validText(index) else { return .null }
            if !isValid { note(.changed, "texts that are not UTF-8, whose wrong bytes are replaced", title()) }
            return .string(text)
        case (.url, .text): return row.text(index).flatMap(Self.url) ?? misfit()
        case (.uuid, .text): return row.text(index).flatMap { Value($0, as: .uuid) } ?? misfit()
        case (.uuid, .bytes): return row.bytes(index).flatMap(Self.uuid) ?? misfit()
        case (.data, .text), (.data, .bytes):
            guard let bytes = row.bytes(index) else { return misfit() }
            if column.isExternal { return try large(bytes, title) }
            return .data(Data(column.mayBeJSON && !notes ? JSONSorter.sorted(bytes) ?? bytes : bytes))
        default: return misfit()
        }
    }

    /// The text of an archived value. If it can't be decoded, notes that, and the objects are read again.
    private func decoded(_ bytes: [UInt8]?, _ attribute: String, of object: Object) -> Value {
        if let text = bytes.flatMap(ArchivedValue.text) { return .string(text) }
        undecodable.insert(Declared(entity: schema.places[object.place].entity, property: attribute))
        return .string("")
    }

    private static func url(_ text: String) -> Value? {
        URL(string: text, encodingInvalidCharacters: false) == nil ? nil : Value(text, as: .url)
    }

    private static func uuid(_ bytes: [UInt8]) -> Value? {
        guard bytes.count == 16 else { return nil }
        return .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    }

    private func storable(_ value: Value) -> Value? { value.isUnstorable ? nil : value }

    /// Whether all large values that are in files can be read. Throws `CoreDataFileError`. O(n).
    func hasLargeValues() throws -> Bool {
        var areThere = true
        for place in schema.places {
            for column in place.attributes.values where column.isExternal {
                let (name, table) = (StoreDatabase.quoted(column.name), StoreDatabase.quoted(place.table))
                let query = "SELECT substr(\(name), 2, 36) FROM \(table) WHERE substr(\(name), 1, 1) = x'02'"
                try copy.reading { database in
                    try database.forEachRow(query) { row in
                        let name = String(decoding: row.bytes(0) ?? [], as: UTF8.self)
                        if case .file = copy.external(named: name) { return }
                        areThere = false
                    }
                }
            }
        }
        return areThere
    }

    private static let largeLength = 16 << 20

    /// The value of an attribute whose large values are in files: the first byte is 1 before the value itself, and 2
    /// before the name of its file.
    private func large(_ bytes: [UInt8], _ title: () -> String) throws -> Value {
        switch bytes.first {
        case 1: return .data(Data(bytes.dropFirst()))
        case 2:
            switch copy.external(named: String(decoding: bytes.dropFirst().prefix { $0 != 0 }, as: UTF8.self)) {
            // The first reading needs no content.
            case .file(let path, let length):
                let isLarge = length >= Self.largeLength
                if isLarge { hasLargeFiles = true }
                return try .data(notes ? Data() : copy.content(ofExternal: path, isLarge: isLarge))
            case .tooLarge: note(.leftOut, "values of more than 1 GiB, which become null", title())
            case .missing:
                note(.leftOut, "values whose files beside the store cannot be read, which become null", title())
            }
            return .null
        default: return .data(Data(bytes))
        }
    }
}
