internal import CFetchIndexICU
internal import Synchronization

/// A compiled regular expression of ICU, which must match the whole text.
package final class RegularExpression: Sendable {
    /// The reason why an expression can't be used, in one sentence.
    package enum Failure: Error, CustomStringConvertible {
        case invalid(pattern: String, reason: String, position: Int)
        /// ICU stopped matching, usually because it reached the limit of time or of memory.
        case tooMuch(pattern: String, textLength: Int)

        package var description: String {
            switch self {
            case .invalid(let pattern, let reason, let position):
                "the regular expression \"\(Self.excerpt(pattern))\" does not compile: \(reason) at character \(position)"
            case .tooMuch(let pattern, let length):
                "the regular expression \"\(Self.excerpt(pattern))\" takes too much time or memory on a text of \(length) bytes"
            }
        }

        /// The beginning of a pattern for messages, because patterns may be very long.
        private static func excerpt(_ pattern: String) -> String {
            let beginning = String(pattern.unicodeScalars.prefix(60))
            return beginning.utf8.count == pattern.utf8.count ? pattern : beginning + "…"
        }
    }

    private struct State {
        // ICU's expression isn't thread-safe; the mutex around this state guards it.
        nonisolated(unsafe) var expression: OpaquePointer
    }

    /// The time limit for matching one text, in ICU's unit of about a millisecond. Longer matches are taken for
    /// catastrophic backtracking.
    private static let timeLimit: Int32 = 1000
    /// The maximum size of the backtracking state, in bytes.
    private static let stackLimit: Int32 = 64 << 20

    private let pattern: String
    private let state: Mutex<State>

    /// Compiles a pattern. Throws if ICU rejects it.
    package init(_ pattern: String, isCaseInsensitive: Bool) throws(Failure) {
        self.pattern = pattern
        // ICU rejects an empty expression, but accepts an empty group.
        let utf16 = Array((pattern.isEmpty ? "(?:)" : pattern).utf16)
        var failure = fi_regex_failure()
        guard
            let opened = fi_regex_open(
                utf16, Int32(utf16.count), isCaseInsensitive, Self.timeLimit, Self.stackLimit, &failure)
        else {
            throw .invalid(
                pattern: pattern, reason: Self.words(String(cString: failure.name)),
                position: Int(failure.offset) + 1)
        }
        // `expression` isn't shared before it's in the mutex.
        nonisolated(unsafe) let expression = opened
        state = Mutex(State(expression: expression))
    }

    /// Turns the name of an ICU error into words: U_REGEX_MISMATCHED_PAREN into "mismatched paren".
    private static func words(_ name: String) -> String {
        name.split(separator: "_").dropFirst(2).joined(separator: " ").lowercased()
    }

    deinit { state.withLock { fi_regex_close($0.expression) } }

    /// Whether the expression matches the whole UTF-8 text. Throws if ICU stops, for example at the limit of time.
    package func matches(_ text: RawSpan) throws(Failure) -> Bool {
        let result = text.withUnsafeBytes { text in
            state.withLock { state in
                fi_regex_matches(
                    state.expression, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count))
            }
        }
        if result < 0 { throw .tooMuch(pattern: pattern, textLength: text.byteCount) }
        return result > 0
    }
}
