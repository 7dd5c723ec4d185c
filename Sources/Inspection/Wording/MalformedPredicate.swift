package import FetchIndexPredicates

/// A predicate that can't be parsed. For a syntax error, its description shows the predicate around the error, and
/// marks the error's position.
///
///     the predicate has the end at position 8, where an attribute or a value was expected
///         price <
///                ^
package struct MalformedPredicate: Error, CustomStringConvertible {
    private static let indent = "    "
    private static let shownBefore = 50
    private static let shownAfter = 25

    package let error: FetchPredicateError
    let format: String

    package var description: String {
        guard case .unexpected(let position, _, _) = error else { return "\(error)" }
        let scalars = Array(format.unicodeScalars)
        let place = min(position - 1, scalars.count)
        let start = max(0, place - Self.shownBefore)
        let end = min(scalars.count, place + Self.shownAfter)
        let before = (start > 0 ? "…" : "") + Self.text(scalars[start..<place])
        let after = Self.text(scalars[place..<end]) + (end < scalars.count ? "…" : "")
        let blanks = String(repeating: " ", count: before.displayWidth)
        return "\(error)\n\(Self.indent)\(before)\(after)\n\(Self.indent)\(blanks)^"
    }

    /// Returns the scalars as a text with spaces instead of control characters.
    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = ""
        for scalar in scalars {
            text.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return text
    }

    /// Runs a body that parses a format. Throws `MalformedPredicate` if the body throws a `FetchPredicateError`.
    package static func naming<Result>(_ format: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as FetchPredicateError {
            throw MalformedPredicate(error: error, format: format)
        }
    }
}
