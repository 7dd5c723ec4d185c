#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
package import Values

/// What a compiled predicate reads: values by slot. A record's bytes and a dictionary are rows alike.
package protocol PredicateRow: ~Escapable {
    /// The integer of a slot that holds integers; nil when it is null.
    func integer(at slot: Int) throws -> Int64?
    /// The double of a slot that holds doubles, or the seconds since 2001 of one that holds dates; nil when it is null.
    func double(at slot: Int) throws -> Double?
    /// Whether the text of a slot that holds texts stands a test; nil when it is null.
    func test(at slot: Int, _ test: TextTest) throws -> Bool?
    /// A slot's value, of the type that the slot was resolved with.
    func value(at slot: Int, as type: ValueType?) throws -> PredicateValue
    /// SELF.
    var object: PredicateValue { get }
}

/// Attributes of a value, found by name.
struct ValueRow: PredicateRow {
    let object: PredicateValue
    let names: [String]

    func integer(at slot: Int) -> Int64? {
        guard case .one(.integer(let number)) = value(at: slot, as: nil) else { return nil }
        return number
    }

    func double(at slot: Int) -> Double? {
        switch value(at: slot, as: nil) {
        case .one(.double(let number)): number
        case .one(.date(let date)): date.timeIntervalSinceReferenceDate
        default: nil
        }
    }

    func test(at slot: Int, _ test: TextTest) throws -> Bool? {
        guard case .one(.string(let text)) = value(at: slot, as: nil) else { return nil }
        return try test.matches(text)
    }

    func value(at slot: Int, as type: ValueType?) -> PredicateValue { object.value(of: names[slot]) }
}

extension PredicateValue {
    /// What stands under a name: of a list, that of each of its elements; null where there is none.
    func value(of name: String) -> PredicateValue {
        switch self {
        case .one: return .null
        case .dictionary(let values): return values[name] ?? .null
        case .list(let elements):
            return .list(
                elements.flatMap { element -> [PredicateValue] in
                    let value = element.value(of: name)
                    guard case .list(let inner) = value else { return [value] }
                    return inner
                })
        }
    }
}
