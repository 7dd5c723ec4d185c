/// An optional value that is encoded as null if it is nil; a synthesized encoder would leave it out.
///
/// For the tool's JSON, in which a program finds every key. Users encode what they like.
@propertyWrapper
package struct NullWhenMissing<Value: Encodable & Sendable>: Encodable, Sendable {
    package var wrappedValue: Value?

    package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}
