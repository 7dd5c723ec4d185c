internal import FetchIndexEssentials

/// Writes an archived predicate as a format string. Classes and keys come from real files or, for what no real file at hand
/// has, from open implementations of Foundation.
struct ArchivedPredicate {
    /// A predicate, or a part of one, that has no format here.
    private struct Unknown: Error {}

    private var left = 1 << 12
    /// The number of characters that the format may still get: texts may be shared, so a small archive could have very many.
    private var length = 1 << 20
    private var level = 0
    private static let mostLevels = 100

    /// The format of a predicate; nil if a part of it is unknown, or if it's nested too deeply or has too many parts.
    static func format(_ predicate: KeyedArchive.Object) -> String? {
        var reader = ArchivedPredicate()
        return try? reader.predicate(predicate)
    }

    /// Counts a text that becomes part of the format.
    private mutating func counted(_ text: String) throws -> String {
        length -= text.utf8.count
        if length < 0 { throw Unknown() }
        return text
    }

    /// The objects of a collection. Throws if it isn't one, or has other elements.
    private static func objects(_ owner: KeyedArchive.Object, _ key: String) throws -> [KeyedArchive.Object] {
        guard let list = owner.object(key), list.isCollection else { throw Unknown() }
        let elements = list.elements
        let objects = elements.objects
        guard objects.count == elements.count, !list.isExhausted else { throw Unknown() }
        return objects
    }

    private static func number(_ owner: KeyedArchive.Object, _ key: String) throws -> Int {
        guard case .integer(let number) = owner[key] else { throw Unknown() }
        return Int(clamping: number)
    }

    private mutating func nested<Result>(_ body: (inout ArchivedPredicate) throws -> Result) throws -> Result {
        left -= 1
        level += 1
        defer { level -= 1 }
        guard left > 0, level < Self.mostLevels else { throw Unknown() }
        return try body(&self)
    }

    // MARK: Predicates

    private mutating func predicate(_ object: KeyedArchive.Object) throws -> String {
        try nested { reader in
            switch object.className {
            case "NSTruePredicate": return "TRUEPREDICATE"
            case "NSFalsePredicate": return "FALSEPREDICATE"
            case "NSComparisonPredicate": return try reader.comparison(object)
            case "NSCompoundPredicate": return try reader.compound(object)
            default: throw Unknown()
            }
        }
    }

    private mutating func compound(_ object: KeyedArchive.Object) throws -> String {
        let parts = try Self.objects(object, "NSSubpredicates").map { "(\(try predicate($0)))" }
        switch try Self.number(object, "NSCompoundPredicateType") {
        case 0 where parts.count == 1: return "NOT \(parts[0])"
        case 1: return parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
        case 2: return parts.isEmpty ? "FALSEPREDICATE" : parts.joined(separator: " OR ")
        default: throw Unknown()
        }
    }

    private static let comparators = [
        0: "<", 1: "<=", 2: ">", 3: ">=", 4: "==", 5: "!=", 6: "MATCHES", 7: "LIKE", 8: "BEGINSWITH", 9: "ENDSWITH",
        10: "IN", 99: "CONTAINS", 100: "BETWEEN",
    ]
    /// The letters of the options in brackets, by their bits.
    private static let options = [(1, "c"), (2, "d"), (4, "n"), (8, "l")]

    private mutating func comparison(_ object: KeyedArchive.Object) throws -> String {
        guard let comparison = object.object("NSPredicateOperator"),
            let comparator = Self.comparators[try Self.number(comparison, "NSOperatorType")],
            let modifier = [0: "", 1: "ALL ", 2: "ANY "][try Self.number(comparison, "NSModifier")]
        else { throw Unknown() }
        let bits = comparison.integer("NSOptions") | comparison.integer("NSFlags")
        guard (0..<16).contains(bits) else { throw Unknown() }
        let letters = Self.options.filter { bits & $0.0 != 0 }.map(\.1).joined()
        let (left, right) = (
            try expression(object, "NSLeftExpression"), try expression(object, "NSRightExpression")
        )
        return "\(modifier)\(left) \(comparator)\(letters.isEmpty ? "" : "[\(letters)]") \(right)"
    }

    // MARK: Expressions

    private mutating func expression(_ owner: KeyedArchive.Object, _ key: String) throws -> String {
        guard let object = owner.object(key) else { throw Unknown() }
        return try expression(object)
    }

    private mutating func expression(_ object: KeyedArchive.Object) throws -> String {
        try nested { reader in
            switch object.className {
            case "NSConstantValueExpression":
                guard object.has("NSConstantValue") else { throw Unknown() }
                return try reader.constant(object["NSConstantValue"])
            case "NSSelfExpression": return "SELF"
            case "NSVariableExpression": return try reader.variable(object)
            case "NSKeyPathSpecifierExpression":
                return try reader.path(Self.required(object.text("NSKeyPath")))
            case "NSKeyPathExpression", "NSFunctionExpression": return try reader.function(object)
            case "NSAggregateExpression":
                return Self.list(try Self.objects(object, "NSCollection").map { try reader.expression($0) })
            case "NSSubqueryExpression":
                let collection = try reader.expression(object, "NSExpression")
                let variable = try reader.variable(object)
                let predicate = try reader.predicate(Self.required(object.object("NSSubpredicate")))
                return "SUBQUERY(\(collection), \(variable), \(predicate))"
            case "NSTernaryExpression":
                let predicate = try reader.predicate(Self.required(object.object("NSPredicate")))
                let (first, second) = (
                    try reader.expression(object, "NSTrueExpression"),
                    try reader.expression(object, "NSFalseExpression")
                )
                return "TERNARY(\(predicate), \(first), \(second))"
            default: throw Unknown()
            }
        }
    }

    private static func required<Part>(_ part: Part?) throws -> Part {
        guard let part else { throw Unknown() }
        return part
    }

    private mutating func variable(_ object: KeyedArchive.Object) throws -> String {
        let name = try Self.required(object.text("NSVariable"))
        guard Self.isName(name) else { throw Unknown() }
        return try counted("$" + name)
    }

    private static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.unicodeScalars.first, first == "_" || first.properties.isAlphabetic else { return false }
        return text.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isAlphabetic || ("0"..."9").contains($0) }
    }

    /// A key path. A name after # is never a word of the format language.
    private mutating func path(_ text: String) throws -> String {
        let names = text.split(separator: ".", omittingEmptySubsequences: false)
        let areNames = names.enumerated().allSatisfy { place, name in
            Self.isName(name) || name.first == "@" && Self.isName(name.dropFirst())
        }
        guard areNames, let first = names.first else { throw Unknown() }
        return try counted(first.first == "@" || first == "self" ? text : "#" + text)
    }

    private static let operators = [
        "add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/", "raise:toPower:": "**",
    ]

    private mutating func function(_ object: KeyedArchive.Object) throws -> String {
        let name = try Self.required(object.text("NSSelectorName"))
        let operand = try Self.required(object.object("NSOperand"))
        let arguments =
            object.has("NSArguments") ? try Self.objects(object, "NSArguments").map { try expression($0) } : []
        if name == "valueForKey:" || name == "valueForKeyPath:" {
            guard arguments.count == 1 else { throw Unknown() }
            let base = try expression(operand)
            return base == "SELF" ? arguments[0] : "\(base).\(arguments[0].drop { $0 == "#" })"
        }
        // The class of the functions that format strings know.
        guard operand.text("NSConstantValueClassName") == "_NSPredicateUtilities" else { throw Unknown() }
        if let sign = Self.operators[name], arguments.count == 2 {
            // A power binds more tightly than a sign.
            let parts = arguments.map { $0.hasPrefix("-") ? "(\($0))" : $0 }
            return "(\(parts[0]) \(sign) \(parts[1]))"
        }
        switch (name, arguments.count) {
        case ("objectFrom:withIndex:", 2): return "\(arguments[0])[\(arguments[1])]"
        case ("castObject:toType:", 2): return "CAST(\(arguments[0]), \(arguments[1]))"
        case (let name, 0): return "\(name)()"
        case (let name, 1) where name.hasSuffix(":"): return "\(name.dropLast())(\(arguments[0]))"
        default: return "\(name)(\(arguments.joined(separator: ", ")))"
        }
    }

    // MARK: Constants

    private mutating func constant(_ value: KeyedArchive.Value) throws -> String {
        switch value {
        case .null: return "nil"
        case .flag(let flag): return flag ? "TRUE" : "FALSE"
        case .integer(let number): return "\(number)"
        case .real(let number):
            guard number.isFinite else { throw Unknown() }
            return "\(number)"
        case .text(let text): return try counted(Self.quoted(text))
        case .bytes: throw Unknown()
        case .object(let object): return try constant(object)
        }
    }

    private mutating func constant(_ object: KeyedArchive.Object) throws -> String {
        try nested { reader in
            switch object.className {
            case "NSNull": return "nil"
            case "NSString", "NSMutableString":
                return try reader.counted(Self.quoted(try Self.required(object.text("NS.string"))))
            case "NSDate":
                switch object["NS.time"] {
                case .real(let seconds) where seconds.isFinite: return "CAST(\(seconds), \"NSDate\")"
                case .integer(let seconds): return "CAST(\(seconds), \"NSDate\")"
                default: throw Unknown()
                }
            case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet":
                guard object.isCollection else { throw Unknown() }
                let elements = object.elements
                guard !object.isExhausted else { throw Unknown() }
                return Self.list(try elements.map { try reader.counted(reader.constant($0)) })
            default: throw Unknown()
            }
        }
    }

    private static func list(_ elements: [String]) -> String { "{" + elements.joined(separator: ", ") + "}" }

    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.reduce(into: "") { result, next in
            if next == "\"" || next == "\\" { result += "\\" }
            result.unicodeScalars.append(next)
        }
        return "\"\(escaped)\""
    }
}
