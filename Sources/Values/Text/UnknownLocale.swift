/// The error for a locale that ICU doesn't know. ICU itself would silently use the root collation.
public struct UnknownLocale: Error, Equatable, CustomStringConvertible {
    public let locale: String
    public var description: String { "ICU knows no locale \"\(locale)\"; write one like \"ja\" or \"en_GB\"" }
}
