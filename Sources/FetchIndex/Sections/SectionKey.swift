internal import FetchIndexModels

/// The property by which rows are grouped into sections. The rows of a section are contiguous.
public enum SectionKey: Hashable, Sendable {
    /// Groups rows by the exact value of an attribute: Apple and apple are two sections.
    case attribute(String)
    /// Groups rows by the first letters of a text attribute.
    case prefix(String, Int)
    /// Groups rows by the day, week, month, quarter or year of a date attribute, as shown by the clocks of a time zone.
    case date(String, CalendarUnit, timeZone: String = "UTC", calendar: SectionCalendar = .iso8601)
    /// Groups rows by intervals of a number attribute. A section's name is the start of its interval.
    case bucket(String, width: Double)
    /// Groups rows by the title of a text attribute in ICU's alphabetic index of a locale, e.g. "ja": usually a letter
    /// of the locale's alphabet (か for kana from か to ご) or of A to Z, and "#" for other texts.
    case indexTitle(String, locale: String)
    /// Groups rows by the object to which a to-one relationship, or a path of them, leads. A section's name is an
    /// attribute of that object; two objects with the same name have two sections. A change of the name changes at
    /// most one section and no row, even if the first sort keys are attributes of that object, unless the predicate, a
    /// later sort key or an observed key path reads the name.
    case relationship(String, name: String)
    /// Groups rows by a function of an object; see `computed(_:version:_:)`.
    case function(ComputedSection)

    /// Groups rows by a function of an object. The function's result may depend only on the object's own attributes;
    /// related objects can't be read in it. An order with a cache needs a version: raise it whenever the function
    /// changes.
    public static func computed<Object: ManagedObject>(
        _ name: String, version: Int? = nil, _ body: @escaping @Sendable (Object) -> String
    ) -> SectionKey {
        .function(ComputedSection(name: name, version: version, body: body))
    }

    static let prefixLengths = 1...1000
    static let bucketWidths = 1e-9...1e15

    /// The attribute that the key reads, or the key path to it; nil if the key is a function.
    public var attribute: String? {
        switch self {
        case .function: nil
        case .attribute(let name), .prefix(let name, _), .date(let name, _, _, _), .bucket(let name, _),
            .indexTitle(let name, _):
            name
        case .relationship(let path, let name): "\(path).\(name)"
        }
    }

    /// The key with its attribute renamed, or unchanged if `name` returns nil.
    func renamingAttribute(_ name: (String) -> String?) -> SectionKey {
        guard let attribute, let new = name(attribute) else { return self }
        return switch self {
        case .function: self
        case .relationship(let path, _): Self.relationship(new, steps: path.pathNames.count)
        case .attribute: .attribute(new)
        case .prefix(_, let length): .prefix(new, length)
        case .date(_, let unit, let timeZone, let calendar): .date(new, unit, timeZone: timeZone, calendar: calendar)
        case .bucket(_, let width): .bucket(new, width: width)
        case .indexTitle(_, let locale): .indexTitle(new, locale: locale)
        }
    }

    /// Makes a relationship key from a key path, whose first `steps` names are relationships.
    private static func relationship(_ keyPath: String, steps: Int) -> SectionKey {
        let names = keyPath.pathNames
        return .relationship(
            names.prefix(steps).joined(separator: "."), name: names.dropFirst(steps).joined(separator: "."))
    }
}
