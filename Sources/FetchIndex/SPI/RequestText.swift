/// The syntax of requests as text. A name that contains syntax characters is enclosed in backquotes, and backquotes in
/// the name are doubled.
///
/// For the tool's options, which use the same syntax for names of columns, types and keys. Users pass names unquoted.
package enum RequestText {
    private static let syntax: Set<Character> = [",", ":", "(", ")", "`", " "]

    package static func quoted(_ name: String) -> String {
        guard name.contains(where: syntax.contains) else { return name }
        return "`\(name.split(separator: "`", omittingEmptySubsequences: false).joined(separator: "``"))`"
    }

    package static func unquoted(_ text: String) -> String {
        let isQuoted = text.count > 2 && text.hasPrefix("`") && text.hasSuffix("`")
        guard isQuoted else { return text }
        var name = ""
        var isSecond = false
        for character in text.dropFirst().dropLast() {
            isSecond = character == "`" && !isSecond && name.last == "`"
            if !isSecond { name.append(character) }
        }
        return name
    }

    /// Splits a text at separators that aren't inside backquotes or parentheses, and trims spaces.
    package static func split(_ text: String, at separator: Character) -> [String] {
        var parts = [""]
        var isQuoted = false
        var depth = 0
        for character in text {
            if character == "`" { isQuoted.toggle() }
            if !isQuoted && character == "(" { depth += 1 }
            if !isQuoted && character == ")" { depth -= 1 }
            if character == separator && !isQuoted && depth == 0 {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts.map { part in
            let start = part.drop { $0 == " " }
            return String(start.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// Parses name(argument, …); nil if the text isn't a call, for example a plain name.
    static func call(_ text: String) -> (name: String, arguments: [String])? {
        guard !text.hasPrefix("`"), let open = text.firstIndex(of: "(") else { return nil }
        guard text.hasSuffix(")") else { return nil }
        let inside = text[text.index(after: open)..<text.index(before: text.endIndex)]
        return (String(text[..<open]), split(String(inside), at: ","))
    }
}
