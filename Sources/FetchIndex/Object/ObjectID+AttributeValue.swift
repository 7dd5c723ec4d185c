internal import FetchIndexEssentials
public import FetchIndexModels
public import FetchIndexPredicates
public import FetchIndexValues

/// An id is stored as the text of its URI. A copy of the value in another store still identifies the same object.
extension ObjectID: AttributeValue {
    public static var valueType: ValueType { .string }

    public init?(attributeValue value: Value) {
        guard case .string(let text) = value, let uri = URL(string: text) else { return nil }
        self.init(uriRepresentation: uri)
    }

    /// The text of the id's URI. Traps for a temporary id; save the object first.
    public var attributeValue: Value {
        guard let uri = uriRepresentation else {
            preconditionFailure("\(self) is a temporary id and cannot be an attribute's value: save the object first.")
        }
        return .string(uri.absoluteString)
    }
}

extension ObjectID {
    private static let temporaryPrefix = "fetchindex-temporary:"

    /// The text of the id's URI; for a temporary id, a text that identifies the object until it is saved.
    public var predicateValue: PredicateValue {
        .one(isTemporary ? .string(Self.temporaryPrefix + "\(key.rawValue)") : attributeValue)
    }

    fileprivate static func temporaryKey(_ text: String) -> RecordKey? {
        guard text.hasPrefix(temporaryPrefix) else { return nil }
        return UInt64(text.dropFirst(temporaryPrefix.count)).map { RecordKey(rawValue: $0) }
    }
}

extension RecordKey {
    /// Parses an id in a predicate: the URI of a saved object, or the text that stands for an unsaved object.
    init?(predicateText text: String) {
        if let key = ObjectID.temporaryKey(text) {
            self = key
        } else {
            guard let uri = URL(string: text), let id = ObjectID(uriRepresentation: uri) else { return nil }
            self = id.key
        }
    }
}
