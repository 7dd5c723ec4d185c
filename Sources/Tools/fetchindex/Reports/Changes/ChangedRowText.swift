internal import FetchIndex
internal import FetchIndexModels

/// Writes changed rows as JSON objects, with the bytes that Foundation's encoder would write with sorted keys. The names
/// of values are prepared once for the rows of an entity.
struct ChangedRowText {
    /// The attributes of an entity, sorted by the bytes of their names, as the encoder sorts them.
    private struct Form {
        let entity: String
        /// The indexes among the attributes, each with the name as JSON and a colon.
        let members: [(index: Int, name: [UInt8])]

        init(of entity: Entity) {
            self.entity = entity.name
            members = entity.attributes.enumerated().sorted {
                $0.element.name.utf8.lexicographicallyPrecedes($1.element.name.utf8)
            }.map {
                var name: [UInt8] = []
                JSONText.append(encoded: $0.element.name, to: &name)
                return ($0.offset, name + [UInt8(ascii: ":")])
            }
        }
    }

    private var form: Form?

    /// Appends a row, with its members sorted by name.
    mutating func append(_ row: ChangedRow, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        if let entity = row.entity {
            bytes += #""entity":"#.utf8
            JSONText.append(encoded: entity, to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        if let from = row.from {
            Self.append(from, #""from":["#, to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        if let name = row.fromSectionName {
            bytes += #""fromSectionName":"#.utf8
            JSONText.append(encoded: name, to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        bytes += #""id":"#.utf8
        JSONText.append(row.id, to: &bytes)
        if let key = row.key {
            bytes += #","key":"#.utf8
            JSONText.append(encoded: key, to: &bytes)
        }
        bytes += #","kind":""#.utf8
        bytes += row.kind.word.utf8
        bytes.append(UInt8(ascii: "\""))
        append(row.new, of: row, #","new":"#, to: &bytes)
        append(row.old, of: row, #","old":"#, to: &bytes)
        appendEnd(of: row, to: &bytes)
    }

    private func appendEnd(of row: ChangedRow, to bytes: inout [UInt8]) {
        for (index, name) in row.related.enumerated() {
            bytes += (index == 0 ? #","related":["# : ",").utf8
            JSONText.append(encoded: name, to: &bytes)
        }
        if !row.related.isEmpty { bytes.append(UInt8(ascii: "]")) }
        if let to = row.to { Self.append(to, #","to":["#, to: &bytes) }
        if let name = row.toSectionName {
            bytes += #","toSectionName":"#.utf8
            JSONText.append(encoded: name, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private static func append(_ path: RowPath, _ start: String, to bytes: inout [UInt8]) {
        bytes += start.utf8
        JSONText.append(path.section, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        JSONText.append(path.row, to: &bytes)
        bytes.append(UInt8(ascii: "]"))
    }

    /// Appends the values of a row, if they are known, as an object after some text.
    private mutating func append(_ values: [Value]?, of row: ChangedRow, _ start: String, to bytes: inout [UInt8]) {
        guard let values, let entity = row.attributes else { return }
        bytes += start.utf8
        append(values, of: entity, to: &bytes)
    }

    /// Appends the values of an entity's object, in the order of its attributes, as an object.
    mutating func append(_ values: [Value], of entity: Entity, to bytes: inout [UInt8]) {
        if form?.entity != entity.name { form = Form(of: entity) }
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (index, name) in form?.members ?? [] {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            bytes += name
            JSONText.append(encoded: values[index], to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// The values as the text of a JSON object, for a field of CSV; null if they aren't known.
    mutating func field(_ values: [Value]?, of row: ChangedRow) -> Value {
        guard let values, let entity = row.attributes else { return .null }
        var bytes: [UInt8] = []
        append(values, of: entity, to: &bytes)
        return .string(String(decoding: bytes, as: UTF8.self))
    }
}
