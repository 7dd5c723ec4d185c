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
    /// The state as text, such as "fresh", "3 changes behind" or "unusable: modelChanged".
    package var sentence: String {
        switch self {
        case .current: "fresh"
        case .behind(let changes): "\(Numbers.count(changes, "change")) behind"
        case .unusable(let reason): "unusable: \(reason.rawValue)"
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
