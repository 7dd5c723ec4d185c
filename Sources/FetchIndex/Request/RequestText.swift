/// The text form of requests. Names with characters of the syntax stand in backquotes.
package enum RequestText {
    private static let syntax: Set<Character> = [",", ":", "(", ")", "`", " "]

    package static func quoted(_ name: String) -> String { name.contains(where: syntax.contains) ? "`\(name)`" : name }

    package static func unquoted(_ text: String) -> String {
        let isQuoted = text.count > 2 && text.hasPrefix("`") && text.hasSuffix("`")
        return isQuoted ? String(text.dropFirst().dropLast()) : text
    }

    /// Splits at a separator that is neither in backquotes nor in parentheses, and trims spaces.
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

    /// Reads name(argument, …); a plain name has no arguments.
    static func call(_ text: String) -> (name: String, arguments: [String])? {
        guard !text.hasPrefix("`"), let open = text.firstIndex(of: "(") else { return nil }
        guard text.hasSuffix(")") else { return nil }
        let inside = text[text.index(after: open)..<text.index(before: text.endIndex)]
        return (String(text[..<open]), split(String(inside), at: ","))
    }
}
