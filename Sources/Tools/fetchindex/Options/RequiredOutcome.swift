internal import ArgumentParser
internal import FetchIndexModels
internal import FetchIndex
internal import FetchIndexInspection

/// The outcomes that `--require` accepts.
struct RequiredOutcome: ExpressibleByArgument {
    private enum Kind: String {
        case hit
        case caughtUp
    }

    private let kinds: Set<Kind>

    /// Parses "hit", "caughtUp", or both separated by a comma.
    init?(argument: String) {
        let kinds = argument.split(separator: ",", omittingEmptySubsequences: false).map { Kind(rawValue: String($0)) }
        guard !kinds.contains(nil) else { return nil }
        self.kinds = Set(kinds.compactMap { $0 })
    }

    /// Throws `OtherOutcome` if the outcome isn't accepted.
    func check(_ outcome: FetchOutcome, cacheName: String) throws {
        let found: String
        switch outcome {
        case .hit where kinds.contains(.hit): return
        case .caughtUp where kinds.contains(.caughtUp), .pending where kinds.contains(.caughtUp): return
        case .hit: found = "is a hit"
        case .caughtUp, .pending: found = "is behind, and would be caught up"
        case .rebuilt(let reason): found = "would be rebuilt (\(reason.rawValue))"
        case .computed: found = "would be computed"
        }
        throw OtherOutcome(description: "the cache \"\(cacheName.visible)\" \(found), which --require does not accept")
    }
}

/// Thrown if nothing has changed and `--if-changed` is given: a script or a scheduler can skip what depends on changes.
struct NothingChanged: Error {}

/// Thrown before a cache is opened if `--require` doesn't accept the outcome. The cache doesn't change.
struct OtherOutcome: Error, CustomStringConvertible {
    let description: String
}
