extension FieldRow {
    /// The column names that this row has as a header. They must be there, be plain text in UTF-8 and differ.
    func columnNames(in input: CatalogueInput) throws -> [String] {
        guard count > 0 else {
            throw UnreadableFile(
                path: input.path, reason: "is empty; its first line must name the columns", isEmpty: true)
        }
        var names: [String] = []
        var known: Set<String> = []
        for column in 0..<count {
            let valid = self[column].withUnsafeBytes { String(validating: $0, as: UTF8.self) }
            guard let name = valid, name.isColumnName, known.insert(name).inserted else {
                throw BadInput(
                    file: input.path, line: line, column: column + 1,
                    reason: "the first line must name the columns, each with a name of its own in UTF-8")
            }
            names.append(name)
        }
        return names
    }
}

extension String {
    /// Whether it can name a column: something, and no control character, which bytes of UTF-16 would have.
    var isColumnName: Bool { !isEmpty && !utf8.contains { $0 < 0x20 } }
}
