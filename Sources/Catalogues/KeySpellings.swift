package import FetchIndexValues

/// How the keys of a file are written. Two spellings of one key would make one object of two rows, so the first key of a column decides
/// where there are two ways:
///
/// - a date as its day alone, and with the time
/// - hexadecimal digits of UUIDs and data in either case
/// - in JSON a number or a boolean in quotation marks, and without; a whole double as 2, and as 2.0
///
/// All other values have one spelling, that of `Value.catalogueText`.
package struct KeySpellings {
    private struct Column {
        var isUsual: Bool?
        var isLiteral: Bool?
    }

    private var columns: [Int: Column] = [:]

    package init() {}

    /// Why a text that was read as a value cannot be a key beside those before it in the column; nil if it can. `isLiteral` says that
    /// it is JSON's, without quotation marks.
    package mutating func fault(
        _ text: String, of value: Value, isLiteral: Bool = false, inJSON: Bool = false, column: Int
    ) -> String? {
        let (own, other) = (value.keyText, value.otherKeyText(isLiteral: isLiteral))
        guard text == own || text == other else { return value.refusalAsKey(of: text.excerpt) }
        if other != nil {
            let isUsual = columns[column]?.isUsual ?? (text == own)
            columns[column, default: Column()].isUsual = isUsual
            guard isUsual == (text == own) else { return value.refusalAsKey(of: text.excerpt) }
        }
        return inJSON ? fault(ofQuoted: text, isLiteral: isLiteral, column: column) : nil
    }

    private mutating func fault(ofQuoted text: String, isLiteral: Bool, column: Int) -> String? {
        if !isLiteral && !JSONScalar.isLiteral(text) { return nil }
        guard let known = columns[column]?.isLiteral else {
            columns[column, default: Column()].isLiteral = isLiteral
            return nil
        }
        if known == isLiteral { return nil }
        let quoted = "\"\(text.excerpt)\""
        return isLiteral
            ? "\(text.excerpt) is not in quotation marks, as keys before it are; \(quoted) would be the same key"
            : "\(quoted) is in quotation marks, which keys before it are not; \(text.excerpt) would be the same key"
    }
}

extension Value {
    /// The two zeros are one key.
    fileprivate var keyText: String {
        if case .double(let number) = self, number.isZero { return Value.double(0).catalogueText }
        return catalogueText
    }

    /// The other way to write the value as a key, if any.
    fileprivate func otherKeyText(isLiteral: Bool) -> String? {
        let own = keyText
        let other: String? =
            switch self {
            case .date: own.hasSuffix(Self.midnight) ? String(own.dropLast(Self.midnight.count)) : nil
            case .uuid: own.lowercased()
            case .data: own.uppercased()
            case .double: isLiteral ? description : nil
            default: nil
            }
        return other == own ? nil : other
    }

    private static let midnight = "T00:00:00Z"
}

extension JSONScalar {
    /// Whether a text is what JSON writes for a number or a boolean.
    fileprivate static func isLiteral(_ text: String) -> Bool {
        guard let first = text.utf8.first,
            first == 0x2D || first == 0x74 || first == 0x66 || (0x30...0x39).contains(first)
        else { return false }
        return Array(text.utf8).withUnsafeBytes { bytes in
            guard var scanner = try? JSONScanner(bytes), let scalar = try? scanner.scalar() else { return false }
            return scalar.isLiteral && scanner.isAtEnd
        }
    }
}
