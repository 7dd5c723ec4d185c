internal import FetchIndexEssentials
internal import FetchIndexValues
internal import Synchronization

/// The rule for values of the source that the store's types don't have: infinite dates, NaN and infinite decimals, and
/// decimals with more digits.
package enum UnstorableRule: String, Codable, Sendable, CaseIterable {
    /// The row is left out, and named, until it has another value.
    case error
    /// The value becomes null.
    case null
    /// The value becomes a near one: PostgreSQL's first or last day, the least or greatest decimal, or a decimal with its
    /// first 38 digits. NaN becomes null.
    case clamp

    /// The value to store instead; nil without one.
    func replacement(for text: String, _ type: ValueType) -> Value? {
        switch (self, type) {
        case (.error, _): return nil
        case (.null, .date), (.null, .decimal): return .null
        case (.clamp, .date):
            switch text {
            case "infinity": return .date(Self.lastDay)
            case "-infinity": return .date(Self.firstDay)
            default: return nil
            }
        case (.clamp, .decimal): return Self.nearestDecimal(text)
        default: return nil
        }
    }

    /// The days 4713-01-01 BC and 5874897-12-31. PostgreSQL documentation, "Date/Time Types".
    private static let firstDay = Date(
        daysSince1970: CalendarDay.daysSince1970(year: -4712, month: 1), seconds: 0,
        fraction: UnsafeRawBufferPointer(start: nil, count: 0))
    private static let lastDay = Date(
        daysSince1970: CalendarDay.daysSince1970(year: 5_874_897, month: 12) + 30, seconds: 0,
        fraction: UnsafeRawBufferPointer(start: nil, count: 0))

    private static func nearestDecimal(_ text: String) -> Value? {
        switch text {
        case "NaN": return .null
        case "Infinity": return .decimal(.greatestFiniteMagnitude)
        case "-Infinity": return .decimal(-.greatestFiniteMagnitude)
        default: break
        }
        if case .decimal(let number)? = Value(text, as: .decimal) { return .decimal(number) }
        let digits = text.drop { $0 == "-" }.prefix { $0 != "." }
        if digits == "0" { return .decimal(0) }
        guard digits.count > 38, digits.allSatisfy(\.isNumber) else { return nil }
        return .decimal(text.hasPrefix("-") ? -.greatestFiniteMagnitude : .greatestFiniteMagnitude)
    }
}

/// Thrown for a row with a value that cannot be stored, and that isn't in the key, and for a row whose key another
/// source has.
struct UnstorableRow: Error {
    /// The key as the texts of its columns, joined by `separator`.
    let key: String
    let reason: String
    let column: String
    /// Whether the row waits until another source no longer has its key.
    var isHeld = false

    private static let separator: Character = "\u{1F}"

    static func key(_ texts: [String]) -> String { texts.joined(separator: String(separator)) }

    /// The texts that a key consists of.
    static func texts(of key: String) -> [String] {
        key.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}

/// The values that were replaced by an `UnstorableRule`: the first one of each column. Any thread may note them.
package final class ReplacedValues: Sendable {
    private let state = Mutex<(known: Set<String>, sentences: [String])>(([], []))

    package init() {}

    func note(_ column: String, _ sentence: @autoclosure () -> String) {
        if !state.withLock({ $0.known.insert(column).inserted }) { return }
        let text = sentence()
        state.withLock { $0.sentences.append(text) }
    }

    /// Returns the sentences that weren't returned yet.
    func take() -> [String] {
        state.withLock { state in
            defer { state.sentences = [] }
            return state.sentences
        }
    }
}
