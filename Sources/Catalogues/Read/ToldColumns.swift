/// What a reader of a catalogue is told of its columns.
package struct ToldColumns: Sendable {
    /// Columns that are known. Lines of JSON may have them although the first ones lack them, and a name that has control characters is
    /// that of a column only here.
    package let names: Set<String>
    /// Whether all lines of JSON are read for columns and types; otherwise the first thousand.
    package let areFoundInAllLines: Bool
    /// Whether lists and objects of JSON lines are read as JSON text.
    package let areListsText: Bool

    /// The member of JSON lines that tells rows apart.
    package let key: String?

    package init(
        names: Set<String> = [], areFoundInAllLines: Bool = false, areListsText: Bool = false, key: String? = nil
    ) {
        (self.names, self.areFoundInAllLines, self.areListsText) = (names, areFoundInAllLines, areListsText)
        self.key = key
    }

    /// Whether a file may name a column so: by something without control characters, which bytes of UTF-16 would have, or by a known name.
    func mayName(_ name: String) -> Bool {
        !name.isEmpty && (name.firstControlCharacter == nil || names.contains(name))
    }
}

extension String {
    fileprivate var firstControlCharacter: UInt8? { utf8.first { $0 < 0x20 } }

    /// The first control character of a name, as errors cite it.
    var controlCharacter: String {
        let code = firstControlCharacter ?? 0
        let digits = String(code, radix: 16, uppercase: true)
        let picture = Unicode.Scalar(0x2400 + UInt32(code)).map { " (\($0))" } ?? ""
        return "the control character U+\(String(repeating: "0", count: 4 - digits.count))\(digits)\(picture)"
            + ", which only a name of --types or of the stored entity may have"
    }
}
