package import FetchIndex

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
