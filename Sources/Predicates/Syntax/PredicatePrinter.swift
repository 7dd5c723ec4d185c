#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import Values

// The canonical format: parsing it gives the same tree, so that it can stand for the predicate in a fingerprint.

extension PredicateSyntax: CustomStringConvertible {
    package var description: String {
        switch self {
        case .constant(true): "TRUEPREDICATE"
        case .constant(false): "FALSEPREDICATE"
        case .comparison(let comparison): comparison.description
        case .not(let inner): "NOT " + inner.enclosed
        case .and(let parts): parts.map(\.enclosed).joined(separator: " AND ")
        case .or(let parts): parts.map(\.enclosed).joined(separator: " OR ")
        }
    }

    /// In parentheses when it is AND or OR.
    private var enclosed: String {
        switch self {
        case .and, .or: "(\(self))"
        case .constant, .comparison, .not: description
        }
    }
}

extension Comparison: CustomStringConvertible {
    package var description: String {
        var modifiers = ""
        if folding.contains(.caseInsensitive) { modifiers += "c" }
        if folding.contains(.diacriticInsensitive) { modifiers += "d" }
        if !modifiers.isEmpty { modifiers = "[\(modifiers)]" }
        return "\(left) \(comparator.rawValue)\(modifiers) \(right)"
    }
}

extension ExpressionSyntax: CustomStringConvertible {
    package var description: String {
        switch self {
        case .value(let value): Self.literal(value)
        case .attribute(let name): Self.attribute(name)
        case .list(let elements): "{" + elements.map(\.description).joined(separator: ", ") + "}"
        }
    }

    private static func attribute(_ name: String) -> String {
        let parts = name.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
        let isPlain = parts.allSatisfy { part in
            part.first.map(Lexer.startsName) == true && part.allSatisfy(Lexer.continuesName)
        }
        if !isPlain { return "`\(name)`" }
        return Keyword(rawValue: name.uppercased()) == nil ? name : "#" + name
    }

    private static func literal(_ value: Value) -> String {
        switch value {
        case .null: "nil"
        case .boolean(let value): value ? "TRUE" : "FALSE"
        case .integer(let value): String(value)
        case .double(let value) where value.isFinite: value.description
        case .string(let text): quoted(text)
        case .date(let date): cast(dateLiteral(date), .date)
        case .double, .decimal, .data, .uuid, .url: cast(quoted(value.description), value.type ?? .string)
        }
    }

    private static func cast(_ literal: String, _ type: ValueType) -> String { "CAST(\(literal), \"\(type.name)\")" }

    /// ISO 8601 where that is exact, else the seconds since 2001.
    private static func dateLiteral(_ date: Date) -> String {
        let text = Value.date(date).description
        return Value(text, as: .date) == .date(date) ? quoted(text) : date.timeIntervalSinceReferenceDate.description
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
