/// The user's choice of a table to follow.
package struct TableChoice: Sendable {
    package var schema: String
    package var name: String
    package var entity: String
    /// The columns whose values together identify rows; if nil, the primary key, or the columns of the index that is the
    /// table's replica identity.
    package var key: [String]?
    /// The attributes by which objects stand for rows, if the followed table has no key.
    var wholeRow: FollowedSource.WholeRow?
    /// The attribute for the source's name, if several sources fill the entity.
    package var shard: FollowedSource.Shard?
    package var condition: String?
    /// The followed columns, to which the key is added; if nil, all columns that the source doesn't compute, including
    /// those that are added later.
    package var columns: [String]?
    /// Columns that are stored as text, whatever their type.
    package var asText: [String] = []
    /// The numbers, by their names, of columns that aren't followed unless `columns` names them.
    var leftOut: [String: Int] = [:]

    init(
        schema: String, name: String, entity: String, key: [String]?, condition: String?, columns: [String]?,
        asText: [String], leftOut: [String: Int]
    ) {
        (self.schema, self.name, self.entity, self.key) = (schema, name, entity, key)
        (self.condition, self.columns, self.asText, self.leftOut) = (condition, columns, asText, leftOut)
    }

    /// Reads `schema.name[=Entity]`; without a schema, the table is in `public`. Names are case-sensitive; a name in
    /// quotation marks is read like in SQL: `"Odd.Schema"."T"`. Throws `SourceError`.
    package init(_ text: String) throws {
        let malformed = SourceError(
            .usage,
            "\"\(text)\" does not name a table: write SCHEMA.TABLE or SCHEMA.TABLE=ENTITY, where a name may be in quotation marks"
        )
        var rest = Substring(text)
        guard let first = Self.takeName(&rest, endingAt: [".", "="]) else { throw malformed }
        var names = [first]
        if rest.first == "." {
            rest.removeFirst()
            // After the first dot, the table's name may have further dots.
            guard let second = Self.takeName(&rest, endingAt: ["="]) else { throw malformed }
            names.append(second)
        }
        (schema, name) = names.count == 2 ? (names[0], names[1]) : ("public", names[0])
        entity = rest.first == "=" ? String(rest.dropFirst()) : name
        if schema.isEmpty || name.isEmpty || entity.isEmpty { throw malformed }
    }

    /// Takes a name, which ends at the text's end or before one of the endings. Returns nil for a name in quotation
    /// marks that isn't closed, or that other characters follow.
    private static func takeName(_ text: inout Substring, endingAt endings: Set<Character>) -> String? {
        guard text.first == "\"" else {
            let name = text.prefix { !endings.contains($0) }
            text = text[name.endIndex...]
            return String(name)
        }
        var name = ""
        text.removeFirst()
        while let character = text.popFirst() {
            if character != "\"" {
                name.append(character)
            } else if text.first == "\"" {
                // Two quotation marks stand for one.
                name.append(text.removeFirst())
            } else {
                return text.first.map(endings.contains) ?? true ? name : nil
            }
        }
        return nil
    }

    /// Makes the choice that describes a followed table as it is now.
    init(_ table: FollowedSource.Table) {
        self.init(
            schema: table.schema, name: table.name, entity: table.entity, key: table.key,
            condition: table.currentCondition,
            columns: table.followsNewColumns ? nil : table.columns.map(\.name), asText: table.asText,
            leftOut: table.leftOut)
        (shard, wholeRow) = (table.shard, table.wholeRow)
    }

    /// Whether a followed table is what this choice asks for. Members that the choice leaves nil or empty aren't
    /// compared.
    func matches(_ table: FollowedSource.Table) -> Bool {
        isName(of: table) && entity == table.entity && condition.map { $0 == table.condition } ?? true
            && (shard == nil || shard == table.shard) && key.map { Set($0) == Set(table.key) } ?? true
            && (asText.isEmpty || Set(asText) == Set(table.asText))
            && columns.map { !table.followsNewColumns && Set($0 + table.key) == Set(table.columns.map(\.name)) }
                ?? true
    }

    func isName(of table: FollowedSource.Table) -> Bool { schema == table.schema && name == table.name }

    var title: String { "\(schema).\(name)" }
    var quoted: String { "\(schema.quotedName).\(name.quotedName)" }
}
