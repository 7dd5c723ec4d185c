/// Properties of a catalogue's columns that are given to its reader.
package struct ToldColumns: Sendable {
    /// Known columns. JSON lines may have them even if the sampled lines lack them, and only known names may contain
    /// control characters below U+0020.
    package let names: Set<String>
    /// Whether columns and types are inferred from all JSON lines; otherwise from the first thousand.
    package let areFoundInAllLines: Bool
    /// Whether lists and objects of JSON lines are read as JSON text.
    package let areListsText: Bool
    /// Whether the members of nested objects are columns with names such as `author.name`.
    package let flattens: Bool

    /// The name of the key column in JSON lines.
    package let key: String?

    package init(
        names: Set<String> = [], areFoundInAllLines: Bool = false, areListsText: Bool = false, flattens: Bool = false,
        key: String? = nil
    ) {
        (self.names, self.areFoundInAllLines, self.areListsText) = (names, areFoundInAllLines, areListsText)
        self.flattens = flattens
        self.key = key
    }

    /// Returns these properties with more known columns.
    func adding(_ more: Set<String>) -> ToldColumns {
        ToldColumns(
            names: names.union(more), areFoundInAllLines: areFoundInAllLines, areListsText: areListsText,
            flattens: flattens, key: key)
    }

    /// Whether a file may use a column name. Refuses an empty name, and an unknown name with control characters below
    /// U+0020, and so most headers in UTF-16: if they are read as UTF-8, their names have NULs.
    func mayName(_ name: String) -> Bool {
        !name.isEmpty && (name.firstControlCharacter == nil || names.contains(name))
    }
}

extension String {
    fileprivate var firstControlCharacter: UInt8? { utf8.first { $0 < 0x20 } }

    /// The first control character of a name, in the form in which errors quote it.
    var controlCharacter: String {
        let code = firstControlCharacter ?? 0
        let digits = String(code, radix: 16, uppercase: true)
        let picture = Unicode.Scalar(0x2400 + UInt32(code)).map { " (\($0))" } ?? ""
        return "the control character U+\(String(repeating: "0", count: 4 - digits.count))\(digits)\(picture)"
            + ", which only the name of a column with a given type or of a stored attribute may have"
    }
}
