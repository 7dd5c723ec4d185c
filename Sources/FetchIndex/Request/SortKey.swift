public enum SortDirection: Hashable, Sendable {
    /// Null comes first.
    case ascending
    /// Null comes last.
    case descending
}

/// An attribute by which objects are sorted. It may also be an attribute of a related object, like `author.name`, or an
/// aggregate of the objects of a to-many relationship, like `messages.@max.sentAt` or `books.@count`.
public struct SortKey<Object: ManagedObject>: Hashable, Sendable {
    public let attribute: String
    public let direction: SortDirection
    /// The order of texts, if the attribute is a text.
    public let textOrder: TextOrder

    public init(_ attribute: String, _ direction: SortDirection = .ascending, _ textOrder: TextOrder = .binary) {
        self.attribute = attribute
        self.direction = direction
        self.textOrder = textOrder
    }

    public init(_ attribute: String, ascending: Bool, _ textOrder: TextOrder = .binary) {
        self.init(attribute, ascending ? .ascending : .descending, textOrder)
    }

    public init<Wrapped: AttributeValue>(
        _ keyPath: KeyPath<Object, Wrapped>, ascending: Bool, _ textOrder: TextOrder = .binary
    ) {
        self.init(keyPath, ascending ? .ascending : .descending, textOrder)
    }

    @available(*, unavailable, message: "Sort by an attribute of the related object: SortKey(\\.author?.name).")
    public init<Related: ManagedObject>(
        _ keyPath: KeyPath<Object, Related?>, _ direction: SortDirection = .ascending, _ textOrder: TextOrder = .binary
    ) { preconditionFailure("An object cannot be a sort key.") }

    /// Makes a sort key. Traps unless the key path is that of an `@Attribute` of the object, or of a related object:
    /// `SortKey(\.author?.name)`.
    public init<Wrapped: AttributeValue>(
        _ keyPath: KeyPath<Object, Wrapped>, _ direction: SortDirection = .ascending, _ textOrder: TextOrder = .binary
    ) {
        self.init(Object.attributeName(of: keyPath), direction, textOrder)
    }

    /// The sort key without its object class.
    var untyped: SortKey<ManagedObject> { SortKey<ManagedObject>(attribute, direction, textOrder) }
}

extension SortKey: CustomStringConvertible {
    /// The form KEY[:desc][:text order], which the tool also reads.
    public var description: String {
        var text = RequestText.quoted(attribute)
        if direction == .descending { text += ":desc" }
        if textOrder != .binary { text += ":" + textOrder.name }
        return text
    }

    /// Parses the form of `description`; also accepts `asc` and `binary`. Throws `RequestError`.
    public init(parsing text: String) throws {
        let parts = RequestText.split(text, at: ":")
        guard let first = parts.first, !first.isEmpty else {
            throw RequestError.malformed("a sort key is KEY[:desc][:text order], not \"\(text)\"")
        }
        var direction = SortDirection.ascending
        var textOrder = TextOrder.binary
        for part in parts.dropFirst() {
            switch part {
            case "desc": direction = .descending
            case "asc": direction = .ascending
            default:
                guard let order = TextOrder(name: part) else {
                    throw RequestError.malformed(
                        "in the sort key \"\(text)\", \"\(part)\" is not one of desc, binary, caseInsensitive, "
                            + "diacriticInsensitive, caseDiacriticInsensitive, localized=ja, localizedStandard=ja")
                }
                textOrder = order
            }
        }
        self.init(RequestText.unquoted(first), direction, textOrder)
    }

    /// Parses sort keys separated by commas. Throws `RequestError`.
    public static func list(parsing text: String) throws -> [SortKey] {
        text.isEmpty ? [] : try RequestText.split(text, at: ",").map { try SortKey(parsing: $0) }
    }
}
