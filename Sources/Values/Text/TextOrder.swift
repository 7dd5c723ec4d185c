internal import CFetchIndexICU

/// The order of texts. It's a part of the request, and doesn't depend on the machine's current locale.
public enum TextOrder: Hashable, Sendable {
    /// By code point.
    case binary
    /// By ICU's root collation, ignoring case.
    case caseInsensitive
    /// By ICU's root collation, ignoring diacritics.
    case diacriticInsensitive
    /// By ICU's root collation, ignoring case and diacritics.
    case caseDiacriticInsensitive
    /// By the rules of a locale, such as "ja" or "sv".
    case localized(String)
    /// Like `localized`, but runs of digits compare by value: file2 before file10.
    case localizedStandard(String)

    /// The order's name in descriptions of requests and in the tool, e.g. localized=ja.
    public var name: String {
        switch self {
        case .binary: "binary"
        case .caseInsensitive: "caseInsensitive"
        case .diacriticInsensitive: "diacriticInsensitive"
        case .caseDiacriticInsensitive: "caseDiacriticInsensitive"
        case .localized(let locale): "localized=\(locale)"
        case .localizedStandard(let locale): "localizedStandard=\(locale)"
        }
    }

    public init?(name: String) {
        switch name {
        case "binary": self = .binary
        case "caseInsensitive": self = .caseInsensitive
        case "diacriticInsensitive": self = .diacriticInsensitive
        case "caseDiacriticInsensitive": self = .caseDiacriticInsensitive
        default:
            guard let sign = name.firstIndex(of: "="), name.index(after: sign) < name.endIndex else { return nil }
            let locale = String(name[name.index(after: sign)...])
            switch name[..<sign] {
            case "localized": self = .localized(locale)
            case "localizedStandard": self = .localizedStandard(locale)
            default: return nil
            }
        }
    }
}

/// Makes the sort keys of a text order: bytes whose memcmp order is the order of the texts.
package final class TextCollator: Sendable {
    // ICU allows several threads to use a const collator.
    nonisolated(unsafe) private let collator: OpaquePointer
    /// The versions of ICU and of the collator. Sort keys of different versions can't be compared.
    package let version: String

    /// Returns nil for `.binary`, whose sort keys are the texts themselves.
    package init?(_ order: TextOrder) throws(UnknownLocale) {
        let locale: String
        var levels: Int32 = 3
        var caseLevel = false
        var isNumeric = false
        switch order {
        case .binary: return nil
        case .caseInsensitive: (locale, levels) = ("", 2)
        case .diacriticInsensitive: (locale, levels, caseLevel) = ("", 1, true)
        case .caseDiacriticInsensitive: (locale, levels) = ("", 1)
        case .localized(let name): locale = name
        case .localizedStandard(let name): (locale, isNumeric) = (name, true)
        }
        // An unknown language is an error; "und" is the root. An unknown country or script is ignored, because it
        // doesn't affect the order.
        if levels == 3 && !fi_locale_is_known(locale) { throw UnknownLocale(locale: locale) }
        guard let collator = fi_collator_open(locale) else { throw UnknownLocale(locale: locale) }
        guard fi_collator_configure(collator, levels, caseLevel, isNumeric) else {
            fi_collator_close(collator)
            throw UnknownLocale(locale: locale)
        }
        self.collator = collator
        self.version = Self.version(of: collator)
    }

    deinit { fi_collator_close(collator) }

    private static func version(of collator: OpaquePointer) -> String {
        var bytes: [UInt8] = [0, 0, 0, 0]
        bytes.withUnsafeMutableBufferPointer { buffer in
            if let base = buffer.baseAddress { fi_collator_version(collator, base) }
        }
        return "\(ICUVersion.library) collator \(bytes.map(String.init).joined(separator: "."))"
    }

    /// Calls the body with the sort key of UTF-8 text, without the 0 that ends ICU's keys.
    package func withSortKey(of text: RawSpan, _ body: (RawSpan) -> Void) {
        let guess = 16 + 6 * text.byteCount
        UTF16Text.with(text) { utf16, length in
            let needed = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: guess) { key in
                sortKey(of: utf16, length, into: key, body)
            }
            if needed > guess {
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: needed) { key in
                    _ = sortKey(of: utf16, length, into: key, body)
                }
            }
        }
    }

    /// Returns the number of bytes that the sort key needs; calls the body only if they fit in the buffer.
    private func sortKey(
        of utf16: UnsafePointer<UInt16>?, _ length: Int32,
        into key: UnsafeMutableBufferPointer<UInt8>, _ body: (RawSpan) -> Void
    ) -> Int {
        let needed = Int(
            fi_collator_sort_key(
                collator, utf16, length, key.baseAddress, Int32(key.count)))
        if needed <= key.count {
            body(UnsafeRawBufferPointer(start: key.baseAddress, count: max(needed - 1, 0)).bytes)
        }
        return needed
    }
}
