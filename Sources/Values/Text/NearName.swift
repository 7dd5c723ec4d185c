extension Sequence<String> {
    /// Returns the name that a misspelled name probably means: the same name in another case, otherwise the nearest
    /// name by edit distance, if the distance is at most a third of the letters (rounded, but from 1 to 3). Returns nil
    /// if no name is near, if several are equally near, or if `name` has more than 100 letters.
    package func nearest(to name: String) -> String? {
        let names = filter { $0 != name && $0.count <= mostLetters }
        if name.count > mostLetters { return nil }
        if let same = names.first(where: { $0.lowercased() == name.lowercased() }) { return same }
        let most = Swift.max(1, Swift.min(3, (name.count + 1) / 3))
        let distances = names.map { (name: $0, distance: $0.distance(to: name)) }.filter { $0.distance <= most }
        guard let least = distances.map(\.distance).min() else { return nil }
        let nearest = distances.filter { $0.distance == least }
        return nearest.count == 1 ? nearest[0].name : nil
    }
}

private let mostLetters = 100

extension String {
    /// The edit distance of Damerau and Levenshtein in its restricted form (exchanged letters aren't edited again),
    /// ignoring case. O(product of the lengths).
    fileprivate func distance(to other: String) -> Int {
        let (left, right) = (Array(lowercased()), Array(other.lowercased()))
        var before: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var next = [row + 1]
            for column in right.indices {
                let isSame = left[row] == right[column]
                var least = Swift.min(next[column] + 1, last[column + 1] + 1, last[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = Swift.min(least, before[column - 1] + 1)
                }
                next.append(least)
            }
            (before, last) = (last, next)
        }
        return last[right.count]
    }
}

/// The known name that an error suggests instead of an unknown one. It's ignored when errors are compared.
public struct NearName: Hashable, Sendable {
    /// The known name; nil if no known name is near.
    public let name: String?

    public init(_ name: String? = nil) { self.name = name }

    /// The suggestion, as appended to the text of an error; "" without a name.
    package var hint: String { name.map { "; there is \"\($0)\"" } ?? "" }

    public static func == (left: NearName, right: NearName) -> Bool { true }

    public func hash(into hasher: inout Hasher) {}
}
