/// An optional value that is encoded as null if it's nil. A synthesized `encode(to:)` would leave out its key.
///
/// For the tool's JSON, in which a missing value is null. Users encode values in their own way.
@propertyWrapper
package struct NullWhenMissing<Value: Encodable & Sendable>: Encodable, Sendable {
    package var wrappedValue: Value?

    package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}
