internal import CICU

/// A locale that ICU does not know. It would silently take its root's rules for it.
public struct UnknownLocale: Error, Equatable, CustomStringConvertible {
    public let locale: String
    public var description: String { "ICU knows no locale \"\(locale)\"; write one like \"ja\" or \"en_GB\"" }

    /// Throws unless ICU has data of the locale's language; "und" is the root itself. A country or script that ICU does
    /// not know is no error: it says nothing about the order. 1 µs.
    static func check(_ locale: String) throws(UnknownLocale) {
        guard fi_locale_is_known(locale) else { throw UnknownLocale(locale: locale) }
    }
}
