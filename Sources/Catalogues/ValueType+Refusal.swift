package import FetchIndexValues

extension ValueType {
    /// Returns the reason why a text can't be read as the type, as the end of a sentence that begins with the text. The
    /// reason names valid forms, if that helps.
    package func refusal(of text: String) -> String {
        let plain = "is not \(nameWithArticle)"
        switch self {
        case .date: return "\(plain); write \(DateText.forms)"
        case .double where text.namesNoFiniteNumber: return "\(plain); write nan, inf or -inf"
        case .decimal where text.namesNoFiniteNumber:
            return "\(plain): decimals have neither infinities nor not-a-number"
        case .double where text.isNumber: return "is a number that a double would change"
        case .decimal where text.isNumber: return "is a number that a decimal, of at most 38 digits, would change"
        case .url:
            guard let url = Value(text, as: .url) else { return plain }
            return "is not a URL as it is written; write \(url.catalogueText.excerpt)"
        default: return plain
        }
    }
}

extension Value {
    /// Returns the reason why a text that was read as this value can't be a key.
    package func refusalAsKey(of text: String) -> String {
        "\"\(text)\" is another spelling of the key \(catalogueText.excerpt); a text key would keep both"
    }
}

extension String {
    fileprivate var namesNoFiniteNumber: Bool {
        guard utf8.count < 20 else { return false }
        let name = drop { $0 == "-" || $0 == "+" }.lowercased()
        return ["nan", "inf", "infinity"].contains(name)
    }

    fileprivate var isNumber: Bool {
        var text = self
        return text.withUTF8 { NumberText(UnsafeRawBufferPointer($0)) != nil }
    }
}
