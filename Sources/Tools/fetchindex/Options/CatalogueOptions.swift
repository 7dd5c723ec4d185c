internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues

// Parses the texts of `import`'s options.

extension GivenTypes {
    /// Parses `--types price:integer,*:string`: the types of attributes by name, and after the star the type of all
    /// others.
    init(option text: String) throws {
        self.init()
        for part in RequestText.split(text, at: ",") where !part.isEmpty {
            guard let colon = part.lastIndex(of: ":"),
                let type = ValueType(name: String(part[part.index(after: colon)...]))
            else {
                let names = ValueType.allCases.map(\.name).joined(separator: ", ")
                throw ValidationError("--types expects NAME:TYPE, not \"\(part)\"; TYPE is one of \(names).")
            }
            // A bare star means all other attributes; the name of a column that is called * is in backquotes here.
            if part[..<colon] == "*" {
                ofOthers = type
                continue
            }
            let name = RequestText.unquoted(String(part[..<colon]))
            if name.isEmpty {
                throw ValidationError("--types expects NAME:TYPE, but the name in \"\(part)\" is empty.")
            }
            named.append((name, type))
        }
    }
}

extension ImportRequest.Relation {
    /// Parses `--relate author=Author.name`.
    init(option text: String) throws {
        let parts = RequestText.split(text, at: "=")
        let names = parts.count == 2 ? RequestText.split(parts[1], at: ".").map(RequestText.unquoted) : []
        guard names.count == 2, !parts[0].isEmpty, !names.contains("") else {
            throw ValidationError("--relate expects COLUMN=Entity.attribute, not \"\(text)\".")
        }
        self.init(column: RequestText.unquoted(parts[0]), entity: names[0], attribute: names[1])
    }
}

extension CatalogueInput {
    /// Parses `--delimiter`: the word tab, \t, or the character.
    static func delimiter(option text: String, _ format: CatalogueFormat) throws -> UInt8 {
        if format != .csv { throw ValidationError("--delimiter is for CSV, not for \(format.rawValue).") }
        let text = ["tab": "\t", "\\t": "\t"][text] ?? text
        guard let byte = text.utf8.first, text.utf8.count == 1, CatalogueInput.canDelimit(byte) else {
            throw ValidationError(
                "--delimiter expects tab or one ASCII character (but no letter, digit or quotation mark), not \"\(text)\"."
            )
        }
        return byte
    }
}
