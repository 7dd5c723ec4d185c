package import FetchIndex

extension NamedCache.State {
    /// fresh; 3 changes behind; unusable: modelChanged
    package var sentence: String {
        switch self {
        case .current: "fresh"
        case .behind(let changes): "\(Numbers.count(changes, "change")) behind"
        case .unusable(let reason): "unusable: \(reason.rawValue)"
        }
    }

    /// The style of the sentence on a page: good, behind or bad.
    package var style: String {
        switch self {
        case .current: "good"
        case .behind: "behind"
        case .unusable: "bad"
        }
    }
}
