internal import FetchIndexEssentials
package import FetchIndexValues

/// A row that a compiled predicate reads: values by slot. Records and dictionaries are rows.
package protocol PredicateRow: ~Escapable {
    /// The integer in a slot of integers; nil if it's null.
    func integer(at slot: Int) throws -> Int64?
    /// The double in a slot of doubles, or the seconds since 2001 in a slot of dates; nil if it's null.
    func double(at slot: Int) throws -> Double?
    /// Whether the text in a slot of texts passes a test; nil if it's null.
    func test(at slot: Int, _ test: TextTest) throws -> Bool?
    /// Calls the body with the bytes of a UUID, or the digits of a decimal, as records store them; returns nil if the
    /// slot is null.
    func bytes<Result>(at slot: Int, _ body: (RawSpan) throws -> Result) throws -> Result?
    /// A slot's value, as the type that the slot was resolved with.
    func value(at slot: Int, as type: ValueType?) throws -> PredicateValue
    /// The number of elements of a slot's list.
    func count(at slot: Int) throws -> Int
    /// The value of SELF.
    var object: PredicateValue { get }
}

extension PredicateRow where Self: ~Escapable {
    package func count(at slot: Int) throws -> Int { try value(at: slot, as: nil).elements.count }
}

/// A row of a value's attributes, found by name.
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
        switch value(at: slot, as: nil) {
        case .one(.string(let text)): try test.matches(text)
        case .one(.url(let url)): try test.matches(url.absoluteString)
        default: nil
        }
    }

    func bytes<Result>(at slot: Int, _ body: (RawSpan) throws -> Result) throws -> Result? {
        switch value(at: slot, as: nil) {
        case .one(.uuid(let uuid)):
            return try withUnsafeBytes(of: uuid.uuid) { try body($0.bytes) }
        case .one(.decimal(let number)):
            var text = number.description
            return try text.withUTF8 { try body(UnsafeRawBufferPointer($0).bytes) }
        default: return nil
        }
    }

    func value(at slot: Int, as type: ValueType?) -> PredicateValue { object.value(of: names[slot]) }
}

extension PredicateValue {
    /// The value of a key; for a list, the values of its elements. Null if the key is missing.
    func value(of name: String) -> PredicateValue {
        switch self {
        case .one(let value): return FoundationKey(rawValue: name).map { .one($0.value(of: value)) } ?? .null
        case .dictionary(let values): return values[name] ?? (name == FoundationKey.itself.rawValue ? self : .null)
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
