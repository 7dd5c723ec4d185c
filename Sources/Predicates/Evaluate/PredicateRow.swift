internal import FetchIndexEssentials
package import FetchIndexValues

/// A row on which a compiled predicate is evaluated. It returns values by slot. Records and dictionaries are rows.
package protocol PredicateRow: ~Escapable {
    /// The integer in an integer slot; nil for null.
    func integer(at slot: Int) throws -> Int64?
    /// The double in a double slot, or the seconds since 2001 in a date slot; nil for null.
    func double(at slot: Int) throws -> Double?
    /// Whether the text in a text slot passes a test; nil for null.
    func test(at slot: Int, _ test: TextTest) throws -> Bool?
    /// Calls the body with the stored bytes of a UUID, or the stored digits of a decimal; returns nil if the slot is
    /// null.
    func bytes<Result>(at slot: Int, _ body: (RawSpan) throws -> Result) throws -> Result?
    /// The value in a slot. `type` is the attribute's type, as resolved at compile time.
    func value(at slot: Int, as type: ValueType?) throws -> PredicateValue
    /// The number of elements in the list of a slot.
    func count(at slot: Int) throws -> Int
    /// The value of SELF.
    var object: PredicateValue { get }
}

extension PredicateRow where Self: ~Escapable {
    package func count(at slot: Int) throws -> Int { try value(at: slot, as: nil).elements.count }
}

/// A row made of a single value. Its attributes are the values of its keys.
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
    /// The value of a key of a dictionary, or of a Foundation key of a single value; for a list, the list of its
    /// elements' values. Null if the key is missing.
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
