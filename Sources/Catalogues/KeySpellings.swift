internal import FetchIndexEssentials
package import FetchIndexValues

/// Checks how the keys of a file are written. Two spellings of one key would merge two rows into one object. If a type
/// has several spellings, the first keys of a column decide which spelling its other keys must have:
///
/// - a date as its day alone, and with the time
/// - a time with a T or a blank, in any zone, and with any number of digits after the point
/// - hexadecimal digits of UUIDs and data in either case
/// - in JSON a number or a boolean in quotation marks, and without; a whole double as 2, and as 2.0
///
/// All other values have one accepted spelling.
package struct KeySpellings {
    private struct Column {
        /// The forms that all keys so far have in common.
        var forms: KeyForms?
        /// The key that last changed these forms.
        var example = ""
        var isLiteral: Bool?
    }

    private var columns: [Int: Column] = [:]

    package init() {}

    /// Returns the reason why a text, read as `value`, can't be a key beside the column's preceding keys; nil if it
    /// can. `isLiteral` tells whether JSON has the text without quotation marks.
    package mutating func fault(
        _ text: String, of value: Value, isLiteral: Bool = false, inJSON: Bool = false, column: Int
    ) -> String? {
        let forms = KeyForms(of: text, value, isLiteral: isLiteral)
        guard !forms.isEmpty else { return value.refusalAsKey(of: text.excerpt) }
        if forms != .all {
            let known = columns[column]?.forms
            let common = known?.intersection(forms) ?? forms
            guard !common.isEmpty else { return otherForm(text, column) }
            if common != known {
                columns[column, default: Column()].forms = common
                columns[column, default: Column()].example = text.excerpt
            }
        }
        return inJSON ? fault(ofQuoted: text, isLiteral: isLiteral, column: column) : nil
    }

    private func otherForm(_ text: String, _ column: Int) -> String {
        let example = columns[column]?.example ?? ""
        return "\"\(text.excerpt)\" is written in another way than the earlier key \"\(example)\"; "
            + "a text key would keep both"
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
            ? "\(text.excerpt) is not in quotation marks, but earlier keys are; \(quoted) would be the same key"
            : "\(quoted) is in quotation marks, but earlier keys are not; \(text.excerpt) would be the same key"
    }
}

/// The forms in which a text is written as a key. In each form a value has at most one text.
private struct KeyForms: Equatable {
    /// Whether the text is `Value.catalogueText`, except that zeros have no sign.
    private let isUsual: Bool
    /// Whether the text is `otherKeyText`, if the value has one, otherwise the usual text.
    private let isOther: Bool
    /// The form of a time; nil if the text has no `TimeForm`, and if keys have different forms.
    private let time: TimeForm?

    /// The forms of a text that has no other spelling.
    static let all = KeyForms(isUsual: true, isOther: true, time: nil)

    var isEmpty: Bool { !isUsual && !isOther && time == nil }

    private init(isUsual: Bool, isOther: Bool, time: TimeForm?) {
        (self.isUsual, self.isOther, self.time) = (isUsual, isOther, time)
    }

    init(of text: String, _ value: Value, isLiteral: Bool) {
        let usual = value.keyText
        isUsual = text == usual
        isOther = text == value.otherKeyText(besides: usual, isLiteral: isLiteral) ?? usual
        if case .date(let date) = value { time = TimeForm(text, of: date) } else { time = nil }
    }

    func intersection(_ other: KeyForms) -> KeyForms {
        KeyForms(
            isUsual: isUsual && other.isUsual, isOther: isOther && other.isOther,
            time: time == other.time ? time : nil)
    }
}

extension Value {
    /// The usual text of a key. Zero and negative zero are one key.
    fileprivate var keyText: String {
        switch self {
        case .double(let number) where number.isZero: Value.double(0).catalogueText
        case .date(let date) where date.timeIntervalSinceReferenceDate.isZero:
            Date(timeIntervalSinceReferenceDate: 0).exactText
        default: catalogueText
        }
    }

    /// Another way to write the value as a key, if any.
    fileprivate func otherKeyText(besides own: String, isLiteral: Bool) -> String? {
        switch self {
        case .date: own.hasSuffix(Self.midnight) ? String(own.dropLast(Self.midnight.count)) : nil
        case .uuid: own.lowercased()
        case .data: own.uppercased()
        case .double: isLiteral ? description : nil
        default: nil
        }
    }

    private static let midnight = "T00:00:00Z"
}

extension JSONScalar {
    /// Whether a text is a number or a boolean in JSON.
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
