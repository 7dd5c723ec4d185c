extension SectionOrder {
    /// The form first-row, name, name:desc, count or count:asc. A name may have a text order: name:desc:localized=ja.
    public var text: String {
        switch self {
        case .byFirstRow: "first-row"
        case .byName(let isDescending, let textOrder):
            "name" + (isDescending ? ":desc" : "") + (textOrder == .binary ? "" : ":" + textOrder.name)
        case .byCount(let isDescending): isDescending ? "count" : "count:asc"
        }
    }

    /// Parses the form of `text`. Throws `RequestError`.
    public init(parsing text: String) throws {
        switch text {
        case "first-row": self = .byFirstRow
        case "count", "count:desc": self = .byCount(descending: true)
        case "count:asc": self = .byCount(descending: false)
        default:
            guard let key = try? SortKey(parsing: text), key.attribute == "name" else {
                throw RequestError.malformed(
                    "a section order is first-row, name, name:desc, count or count:asc, not \"\(text)\"")
            }
            self = .byName(descending: key.direction == .descending, key.textOrder)
        }
    }
}
