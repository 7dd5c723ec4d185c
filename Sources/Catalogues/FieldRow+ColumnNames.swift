extension FieldRow {
    /// The column names that this row has as a header; it must be there, and the names be UTF-8 and differ.
    func columnNames(in path: String) throws -> [String] {
        guard count > 0 else {
            throw UnreadableFile(path: path, reason: "is empty; its first line must name the columns")
        }
        var names: [String] = []
        for column in 0..<count {
            guard let name = String(validating: bytes[range(of: column)], as: UTF8.self), !name.isEmpty,
                !names.contains(name)
            else {
                throw BadInput(
                    file: path, line: line, column: column + 1,
                    reason: "the first line must name the columns, each with a name of its own in UTF-8")
            }
            names.append(name)
        }
        return names
    }
}
