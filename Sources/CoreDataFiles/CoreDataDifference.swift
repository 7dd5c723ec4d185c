/// A kind of difference between a file of Core Data and what is made of it, with the names of what differs.
public struct CoreDataDifference: Hashable, Sendable {
    public enum Kind: String, Sendable {
        /// It isn't in the model or in the store.
        case leftOut = "left out"
        /// It is represented in another way.
        case changed
        /// Its values are kept as they are stored, as bytes that FetchIndex doesn't understand.
        case asBytes = "as bytes"
        /// It is a rule that FetchIndex doesn't keep.
        case notKept = "not kept"
    }

    public let kind: Kind
    /// What differs, such as "transient attributes".
    public let what: String
    /// The number of what differs; 0 if the difference concerns the whole file.
    public let count: Int
    /// The first names, such as Author.initial, in the order of the file: at most 1,000.
    public let names: [String]
}

extension CoreDataDifference: CustomStringConvertible {
    /// The sentence that the tool prints, with at most three names: "left out: transient attributes (1): Author.initial".
    public var description: String {
        if count == 0 { return "\(kind.rawValue): \(what)" }
        let more = count > 3 ? " …" : ""
        return "\(kind.rawValue): \(what) (\(count)): \(names.prefix(3).joined(separator: ", "))\(more)"
    }
}

/// Collects differences, each kind once, in the order of their first notes.
struct DifferenceList {
    private static let mostNames = 1000

    private(set) var differences: [CoreDataDifference] = []
    private var places: [[String]: Int] = [:]

    /// Notes something that differs, by its name; nil for the whole file.
    mutating func note(_ kind: CoreDataDifference.Kind, _ what: String, _ name: @autoclosure () -> String?) {
        let key = [kind.rawValue, what]
        let place = places[key] ?? differences.count
        if place == differences.count {
            places[key] = place
            differences.append(CoreDataDifference(kind: kind, what: what, count: 0, names: []))
        }
        let known = differences[place]
        if known.names.count == Self.mostNames {
            differences[place] = CoreDataDifference(kind: kind, what: what, count: known.count + 1, names: known.names)
        } else if let name = name() {
            differences[place] = CoreDataDifference(
                kind: kind, what: what, count: known.count + 1, names: known.names + [name])
        }
    }

    /// Adds noted differences; the counts of equal kinds are added.
    mutating func add(_ others: [CoreDataDifference]) {
        for other in others {
            let key = [other.kind.rawValue, other.what]
            guard let place = places[key] else {
                places[key] = differences.count
                differences.append(other)
                continue
            }
            let known = differences[place]
            differences[place] = CoreDataDifference(
                kind: known.kind, what: known.what, count: known.count + other.count,
                names: Array((known.names + other.names).prefix(Self.mostNames)))
        }
    }
}
