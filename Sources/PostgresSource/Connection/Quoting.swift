extension String {
    /// The text as an identifier in SQL.
    var quotedName: String {
        "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// The text as a string constant in SQL. A backslash needs no escape if standard_conforming_strings is on, as
    /// `Connection` sets it and as it is by default.
    var quotedText: String {
        "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}
