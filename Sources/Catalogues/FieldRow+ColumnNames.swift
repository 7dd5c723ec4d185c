extension FieldRow {
    /// Returns the column names in this row, which is the header. Throws if the row is empty, or if a name is empty,
    /// repeated or not UTF-8, or has control characters below U+0020 and isn't a known name.
    func columnNames(in input: CatalogueInput, _ told: ToldColumns) throws -> [String] {
        guard count > 0 else {
            throw UnreadableFile(
                path: input.path, reason: "is empty, or has no header that names the columns", isEmpty: true)
        }
        var names: [String] = []
        var known: Set<String> = []
        for column in 0..<count {
            let valid = self[column].withUnsafeBytes { String(validating: $0, as: UTF8.self) }
            if let name = valid, told.mayName(name), known.insert(name).inserted {
                names.append(name)
                continue
            }
            let fault =
                switch valid {
                case nil: "this name is not UTF-8"
                case "": "this name is empty"
                case let name?:
                    names.firstIndex(of: name).map { "column \($0 + 1) is called \"\(name.excerpt)\", too" }
                        ?? "this name, \"\(name.excerpt)\", has \(name.controlCharacter)"
                }
            var error = BadInput(
                file: input.path, line: line, column: column + 1,
                reason: "the header must name the columns, each with a name of its own in UTF-8; \(fault)")
            if let name = valid, !name.isEmpty, !told.mayName(name) { error.remedy = .typeOfColumn }
            throw error
        }
        return names
    }
}

extension FieldRow {
    /// Throws for a header with a single column whose name contains a semicolon or a tab, because it looks like several
    /// names.
    func refuseOtherDelimiter(in input: CatalogueInput, isCSV: Bool) throws {
        guard count == 1 else { return }
        let found = self[0].withUnsafeBytes { name in [UInt8(0x3B), 0x09].first { name.contains($0) } }
        guard let found else { return }
        let what = found == 0x09 ? "a tab" : "a semicolon"
        var error = BadInput(
            file: input.path, line: line, column: 1,
            reason: "the only column is called \"\(excerpt(of: 0))\", with \(what), which may separate columns or not")
        error.remedy = .delimiter(found, isCSV: isCSV)
        throw error
    }
}
