extension String {
    /// The text as an identifier in SQL.
    var quotedName: String {
        "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// The text as a string constant in SQL. `Connection` sets standard_conforming_strings, so a backslash needs no
    /// escape.
    var quotedText: String {
        "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}
