internal import FetchIndexPredicates
internal import FetchIndexValues

/// An interval of OrderKeys: the keys that are at least `lower` and less than `upper`.
///
/// In a tree's key, further values and the object's number may follow a value. The keys that begin with a prefix are
/// those that are at least the prefix and less than its successor. No value's key is a prefix of another value's key,
/// so all keys that begin with the key of a value have this value.
struct KeyInterval: Equatable {
    var lower: [UInt8]
    var upper: [UInt8]

    var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }

    /// The interval of all keys with a prefix.
    init(beginningWith bytes: [UInt8]) { self.init(lower: bytes, upper: Self.successor(of: bytes)) }

    init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    /// The interval for a descending order, in which every bit of the keys is inverted.
    var reversed: KeyInterval {
        KeyInterval(lower: Self.successor(of: upper.map { ~$0 }), upper: Self.successor(of: lower.map { ~$0 }))
    }

    /// The least byte string that is greater than all keys with a prefix.
    private static func successor(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        while bytes.last == 0xFF { bytes.removeLast() }
        guard let last = bytes.popLast() else { return beyondAll }
        return bytes + [last + 1]
    }

    /// Bytes that are greater than every key.
    private static let beyondAll: [UInt8] = [0xFF, 0xFF]

    /// The interval of all keys.
    static let all = KeyInterval(lower: [], upper: beyondAll)

    /// The interval of keys that begin with a prefix and continue with a key of this interval.
    func following(_ prefix: [UInt8]) -> KeyInterval { KeyInterval(lower: prefix + lower, upper: prefix + upper) }

    /// The intersection of two lists of intervals, which are sorted and do not overlap.
    static func intersection(_ left: [KeyInterval], _ right: [KeyInterval]) -> [KeyInterval] {
        var common: [KeyInterval] = []
        var (first, second) = (0, 0)
        while first < left.count && second < right.count {
            let (one, other) = (left[first], right[second])
            let both = KeyInterval(
                lower: one.lower.lexicographicallyPrecedes(other.lower) ? other.lower : one.lower,
                upper: one.upper.lexicographicallyPrecedes(other.upper) ? one.upper : other.upper)
            if !both.isEmpty { common.append(both) }
            if one.upper.lexicographicallyPrecedes(other.upper) { first += 1 } else { second += 1 }
        }
        return common
    }

    /// The union of some intervals, in ascending order and without overlaps.
    private static func union(_ intervals: [KeyInterval]) -> [KeyInterval] {
        var joined: [KeyInterval] = []
        for next in intervals.sorted(by: { $0.lower.lexicographicallyPrecedes($1.lower) }) where !next.isEmpty {
            if let last = joined.last, next.lower.lexicographicallyPrecedes(last.upper) {
                if last.upper.lexicographicallyPrecedes(next.upper) { joined[joined.count - 1].upper = next.upper }
            } else {
                joined.append(next)
            }
        }
        return joined
    }

    /// The intervals of the keys that meet a demand, in ascending order. O(n log n) for n values and ranges.
    static func intervals(_ demand: AttributeConstraint.Demand, _ type: ValueType) -> [KeyInterval] {
        switch demand {
        case .values(let values):
            return values.map { KeyInterval(beginningWith: key($0)) }
                .sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
                .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        case .anyOf(let demands): return union(demands.flatMap { intervals($0, type) })
        case .allOf(let demands):
            let all = demands.map { intervals($0, type) }
            return all.dropFirst().reduce(all.first ?? []) { intersection($0, $1) }
        case .prefix(let prefix):
            // The key of a text ends with two bytes that mark its end. Dropping them gives a prefix of the keys of all
            // texts that begin with the text.
            return [KeyInterval(beginningWith: Array(key(.string(prefix)).dropLast(2)))]
        case .relation(let comparator, let value):
            // In the order, null comes before all values and NaN after them. Neither satisfies a relation.
            let key = KeyInterval(beginningWith: key(value))
            var all = KeyInterval(beginningWith: [key.lower[0]])
            if type == .double || type == .date { all.upper = notANumber(type) }
            switch comparator {
            case .less: return [KeyInterval(lower: all.lower, upper: key.lower)]
            case .lessOrEqual: return [KeyInterval(lower: all.lower, upper: key.upper)]
            case .greater: return [KeyInterval(lower: key.upper, upper: all.upper)]
            default: return [KeyInterval(lower: key.lower, upper: all.upper)]
            }
        }
    }

    private static func key(_ value: Value) -> [UInt8] {
        var key: [UInt8] = []
        OrderKey.append(value, to: &key)
        return key
    }

    private static func notANumber(_ type: ValueType) -> [UInt8] {
        var key: [UInt8] = []
        OrderKey.appendDouble(.nan, as: type, to: &key)
        return key
    }
}
