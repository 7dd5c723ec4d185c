internal import FetchIndexEssentials
internal import FetchIndexValues

// Prints the canonical format. Printing a parsed tree and parsing the format gives an equal tree, unless the format has
// a NaN, or is too long or nested too deeply, so fingerprints can contain the format instead of the tree.

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

    /// The format, in parentheses for AND and OR.
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
        let quantifier = quantifier.map { "\($0.rawValue) " } ?? ""
        return "\(quantifier)\(left) \(comparator.rawValue)\(modifiers) \(right)"
    }
}

extension CustomStringConvertible {
    /// The format for a message: in quotes, and shortened if it's long.
    var shown: String {
        let text = description
        return "`" + (text.count > 100 ? text.prefix(100) + "…" : text[...]) + "`"
    }
}

extension ExpressionSyntax: CustomStringConvertible {
    package var description: String {
        switch self {
        case .value(let value): Self.literal(value)
        case .object: "SELF"
        case .variable(let name): "$" + name
        case .list(let elements): "{" + Self.listed(elements) + "}"
        case .keyPath(let base, let steps): Self.keyPath(base, steps)
        case .operation(let sign, let left, let right): Self.operation(sign, left, right)
        case .call(.negative, let arguments): "-" + arguments[0].text(above: ArithmeticOperator.signPrecedence)
        case .call(.onesComplement, let arguments): "~" + arguments[0].text(above: ArithmeticOperator.signPrecedence)
        case .call(let function, let arguments): "\(function.rawValue)(\(Self.listed(arguments)))"
        case .subquery(let collection, let variable, let predicate):
            "SUBQUERY(\(collection), $\(variable), \(predicate))"
        case .ternary(let predicate, let first, let second): "TERNARY(\(predicate), \(first), \(second))"
        }
    }

    private static func listed(_ expressions: [ExpressionSyntax]) -> String {
        expressions.map(\.description).joined(separator: ", ")
    }

    private static func operation(
        _ sign: ArithmeticOperator, _ left: ExpressionSyntax, _ right: ExpressionSyntax
    ) -> String {
        // All operators except the power are left-associative.
        let isPower = sign == .power
        let leftText = left.text(above: isPower ? sign.precedence + 1 : sign.precedence)
        let rightText = right.text(above: isPower ? ArithmeticOperator.signPrecedence : sign.precedence + 1)
        return "\(leftText) \(sign.rawValue) \(rightText)"
    }

    /// The format, in parentheses if its operator binds less tightly than `precedence`.
    private func text(above precedence: Int) -> String { self.precedence < precedence ? "(\(self))" : description }

    private var precedence: Int {
        switch self {
        case .operation(let sign, _, _): sign.precedence
        case .call(.negative, _), .call(.onesComplement, _): ArithmeticOperator.signPrecedence
        case .value(.integer(let number)) where number < 0: ArithmeticOperator.signPrecedence
        case .value(.double(let number)) where number.isFinite && number.sign == .minus:
            ArithmeticOperator.signPrecedence
        default: .max
        }
    }

    private static func keyPath(_ base: ExpressionSyntax, _ steps: [KeyPathStep]) -> String {
        var text: String
        switch base {
        case .object:
            if case .name = steps.first { text = "" } else { text = "SELF" }
        case .variable, .list, .subquery, .ternary: text = base.description
        default: text = "(\(base))"
        }
        for step in steps {
            switch step {
            case .name(let name): text += (text.isEmpty ? "" : ".") + self.name(name)
            case .collection(let name): text += ".@" + name.rawValue
            case .index(let index): text += "[\(index.isMarkName ? "#" : "")\(index)]"
            case .first: text += "[FIRST]"
            case .last: text += "[LAST]"
            case .size: text += "[SIZE]"
            }
        }
        return text
    }

    /// Whether the expression is an attribute named FIRST, LAST or SIZE, which brackets would turn into the special
    /// step.
    private var isMarkName: Bool {
        guard case .keyPath(.object, let steps) = self, case .name(let name) = steps.first else { return false }
        return steps.count == 1 && KeyPathStep(mark: name) != nil
    }

    private static func name(_ name: String) -> String {
        let scalars = name.unicodeScalars
        let isPlain = scalars.first.map(Lexer.startsName) == true && scalars.allSatisfy(Lexer.continuesName)
        if !isPlain { return "`\(name)`" }
        return Keyword(name) == nil ? name : "#" + name
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

    /// The literal of a date: ISO 8601 if that represents the date exactly, otherwise the seconds since 2001, which are
    /// in quotes if they aren't finite.
    private static func dateLiteral(_ date: Date) -> String {
        let text = Value.date(date).description
        let seconds = date.timeIntervalSinceReferenceDate
        if !seconds.isFinite { return quoted(seconds.description) }
        return Value(text, as: .date) == .date(date) ? quoted(text) : seconds.description
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
