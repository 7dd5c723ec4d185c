internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexTerminal

/// A point of the store, from which changes are asked for.
struct PointArgument: ExpressibleByArgument {
    let point: StorePoint

    /// Parses the number of a commit, a time in ISO 8601 with a time zone, or the name of a bookmark, which doesn't begin
    /// with a digit.
    init?(argument: String) {
        if let commit = UInt64(argument) {
            point = .commit(commit)
        } else if argument.first?.isNumber == true {
            guard case .date(let time)? = Value(argument, as: .date) else { return nil }
            point = .time(time)
        } else {
            point = .bookmark(argument)
        }
    }
}

extension StorePoint {
    /// Returns the sentence for a point that the log doesn't reach, with the points that it reaches.
    func unreachable(in container: PersistentContainer) throws -> Failure {
        let information = try container.information()
        if case .commit(let commit) = self, commit > information.commit {
            return Failure("there is no commit \(commit) yet; the newest one is \(information.commit)")
        }
        return Failure(
            "the change log no longer reaches back to that point; the oldest commit that it reaches is \(information.log.start)"
        )
    }
}
