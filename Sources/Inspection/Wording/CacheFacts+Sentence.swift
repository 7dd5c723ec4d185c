package import FetchIndexOrderCaches

extension CacheFacts {
    /// fresh; 3 changes behind; unusable: modelChanged
    package var sentence: String {
        switch assessment {
        case .current: "fresh"
        case .behind(_, let changes): "\(Numbers.count(changes, "change")) behind"
        case .unusable(let reason, _): "unusable: \(reason.rawValue)"
        }
    }

    /// The style of the sentence on a page: good, behind or bad.
    package var style: String {
        switch assessment {
        case .current: "good"
        case .behind: "behind"
        case .unusable: "bad"
        }
    }
}
