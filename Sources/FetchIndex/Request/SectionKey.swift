/// What rows are grouped by. A section's rows are contiguous by construction.
public enum SectionKey: Hashable, Sendable {
    /// By the exact value of an attribute: Apple and apple are two sections.
    case attribute(String)
    /// By the first letters of a text attribute.
    case prefix(String, Int)
    /// By the day, month or year of a date attribute in a time zone.
    case date(String, CalendarUnit, timeZone: String = "UTC")
    /// By intervals of a number attribute; a section is named by where its interval begins.
    case bucket(String, width: Double)
    /// By what a function makes of an object; see `computed(_:version:_:)`.
    case function(ComputedSection)

    /// By what a function makes of an object, which must depend on nothing else. An order can be kept under a name only
    /// when the function has a version, to be raised whenever the function changes.
    public static func computed<Object: ManagedObject>(
        _ name: String, version: Int? = nil, _ body: @escaping @Sendable (Object) -> String
    ) -> SectionKey {
        .function(ComputedSection(name: name, version: version, body: body))
    }

    static let prefixLengths = 1...1000
    static let bucketWidths = 1e-9...1e15

    /// The attribute that the key reads; nil for a function.
    public var attribute: String? {
        switch self {
        case .function: nil
        case .attribute(let name), .prefix(let name, _), .date(let name, _, _), .bucket(let name, _): name
        }
    }
}

extension SectionKey: CustomStringConvertible {
    /// KEY, prefix(KEY,1), day(KEY), day(KEY,Asia/Tokyo), month(KEY), year(KEY) or bucket(KEY,1000), as the tool reads
    /// it.
    public var description: String {
        let name = RequestText.quoted(attribute ?? "")
        switch self {
        case .function(let section):
            return "computed(\(RequestText.quoted(section.name)),\(section.version.map { "\($0)" } ?? "none"))"
        case .attribute: return name
        case .prefix(_, let length): return "prefix(\(name),\(length))"
        case .date(_, let unit, let zone): return zone == "UTC" ? "\(unit)(\(name))" : "\(unit)(\(name),\(zone))"
        case .bucket(_, let width): return "bucket(\(name),\(Value.double(width)))"
        }
    }

    /// Reads `description`'s form.
    public init(parsing text: String) throws {
        guard let (function, arguments) = RequestText.call(text) else {
            guard !text.isEmpty, text.hasPrefix("`") || !text.contains(where: { "(),:".contains($0) }) else {
                throw Self.malformed(text)
            }
            self = .attribute(RequestText.unquoted(text))
            return
        }
        if function == "computed" {
            throw RequestError.malformed(
                "the section key \(text) is a function of the program that made the order; only that can make it again")
        }
        let name = RequestText.unquoted(arguments[0])
        switch (function, arguments.count) {
        case ("prefix", 2):
            guard let length = Int(arguments[1]), Self.prefixLengths.contains(length) else {
                throw Self.malformed(text)
            }
            self = .prefix(name, length)
        case ("bucket", 2):
            guard let width = Double(arguments[1]), Self.bucketWidths.contains(width) else {
                throw Self.malformed(text)
            }
            self = .bucket(name, width: width)
        case (_, 1...2):
            guard let unit = CalendarUnit(rawValue: function) else { throw Self.malformed(text) }
            self = .date(name, unit, timeZone: arguments.count == 2 ? arguments[1] : "UTC")
        default: throw Self.malformed(text)
        }
        if name.isEmpty { throw Self.malformed(text) }
    }

    private static func malformed(_ text: String) -> RequestError {
        .malformed(
            "a section key is KEY, prefix(KEY,1), day(KEY), month(KEY), year(KEY), day(KEY,Asia/Tokyo) or "
                + "bucket(KEY,1000), not \"\(text)\"")
    }
}

extension SectionOrder {
    /// first-row, name, name:desc, count or count:asc, a name with its text order: name:desc:localized=ja.
    public var text: String {
        switch self {
        case .byFirstRow: "first-row"
        case .byName(let isDescending, let textOrder):
            "name" + (isDescending ? ":desc" : "") + (textOrder == .binary ? "" : ":" + textOrder.name)
        case .byCount(let isDescending): isDescending ? "count" : "count:asc"
        }
    }

    /// Reads `text`'s form.
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
