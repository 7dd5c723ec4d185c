internal import SystemBasics
public import Models
public import Values

/// As the text of its URI, so that the value means the same object in every store that it is copied to.
extension ObjectID: AttributeValue {
    public static var valueType: ValueType { .string }

    public init?(attributeValue value: Value) {
        guard case .string(let text) = value, let uri = URL(string: text) else { return nil }
        self.init(uriRepresentation: uri)
    }

    /// Traps for a temporary id: save the object first.
    public var attributeValue: Value {
        guard let uri = uriRepresentation else {
            preconditionFailure("\(self) is a temporary id and cannot be an attribute's value: save the object first.")
        }
        return .string(uri.absoluteString)
    }
}
