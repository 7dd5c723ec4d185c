package import FetchIndex

extension NamedCache {
    /// The state and the marks as text, such as "fresh, maintained" or "3 changes behind, locked".
    package var sentence: String {
        state.sentence + Self.marks(isMaintained: isMaintained, isLocked: isLocked, unreadSince: unreadSince)
    }

    /// Returns the marks that follow a cache's state, such as ", maintained, locked, unread since commit 7".
    package static func marks(isMaintained: Bool, isLocked: Bool, unreadSince: UInt64?) -> String {
        (isMaintained ? ", maintained" : "") + (isLocked ? ", locked" : "")
            + (unreadSince.map { ", unread since commit \($0)" } ?? "")
    }
}

extension NamedCache.State {
    /// The words for the three kinds of states: reports, lists, the live page and metrics use no others.
    package static let words = ["fresh", "behind", "unusable"]

    /// The kind of the state in one word, without the number of changes or the reason.
    package var word: String {
        switch self {
        case .current: Self.words[0]
        case .behind: Self.words[1]
        case .unusable: Self.words[2]
        }
    }

    /// The state as text, such as "fresh", "3 changes behind" or "unusable: modelChanged".
    package var sentence: String {
        switch self {
        case .current: word
        case .behind(let changes): "\(Numbers.count(changes, "change")) \(word)"
        case .unusable(let reason): "\(word): \(reason.rawValue)"
        }
    }

    /// The CSS class of the sentence: good, behind or bad.
    package var style: String {
        switch self {
        case .current: "good"
        case .behind: "behind"
        case .unusable: "bad"
        }
    }
}
