internal import FetchIndexPlatform
package import FetchIndexValues

/// How the keys of a file are written. Two spellings of one key would make one object of two rows. If a type has several spellings, the
/// first keys of a column decide:
///
/// - a date as its day alone, and with the time
/// - a time with a T or a blank, in any zone, and with any number of digits behind the point
/// - hexadecimal digits of UUIDs and data in either case
/// - in JSON a number or a boolean in quotation marks, and without; a whole double as 2, and as 2.0
///
/// All other values have one spelling, that of `Value.catalogueText`.
package struct KeySpellings {
    private struct Column {
        /// The forms that all keys so far have in common.
        var forms: KeyForms?
        /// The key that left no other ones.
        var example = ""
        var isLiteral: Bool?
    }

    private var columns: [Int: Column] = [:]

    package init() {}

    /// Why a text that was read as a value cannot be a key beside those before it in the column; nil if it can. `isLiteral` says that
    /// it is JSON's, without quotation marks.
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
        return "\"\(text.excerpt)\" is written in another way than \"\(example)\", a key before it; "
            + "a key of texts would keep both"
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

/// The ways to write keys in which a text is written. In each of them a value has one text.
private struct KeyForms: Equatable {
    /// As `Value.catalogueText`.
    private let isUsual: Bool
    /// As `otherKeyText`, where a value has one, else as usual.
    private let isOther: Bool
    /// As all times of one form.
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
    /// The two zeros are one key.
    fileprivate var keyText: String {
        switch self {
        case .double(let number) where number.isZero: Value.double(0).catalogueText
        case .date(let date) where date.timeIntervalSinceReferenceDate.isZero:
            Date(timeIntervalSinceReferenceDate: 0).exactText
        default: catalogueText
        }
    }

    /// The other way to write the value as a key, if any.
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
