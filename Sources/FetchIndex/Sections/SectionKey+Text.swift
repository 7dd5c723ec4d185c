extension SectionKey: CustomStringConvertible {
    /// The form KEY, prefix(KEY,1), day(KEY), week(KEY,Asia/Tokyo), month(KEY,Asia/Tokyo,japanese), quarter(KEY),
    /// year(KEY), bucket(KEY,1000), indexTitle(KEY,ja) or relationship(PATH,KEY), which the tool also reads. A function
    /// has the form computed(NAME,VERSION), which can't be parsed.
    public var description: String {
        let name = RequestText.quoted(attribute ?? "")
        switch self {
        case .function(let section):
            return "computed(\(RequestText.quoted(section.name)),\(section.version.map { "\($0)" } ?? "none"))"
        case .attribute: return name
        case .relationship(let path, let name):
            return "relationship(\(RequestText.quoted(path)),\(RequestText.quoted(name)))"
        case .prefix(_, let length): return "prefix(\(name),\(length))"
        case .date(_, let unit, "UTC", .iso8601): return "\(unit)(\(name))"
        case .date(_, let unit, let zone, .iso8601): return "\(unit)(\(name),\(zone))"
        case .date(_, let unit, let zone, let calendar): return "\(unit)(\(name),\(zone),\(calendar))"
        case .bucket(_, let width): return "bucket(\(name),\(Value.double(width)))"
        case .indexTitle(_, let locale): return "indexTitle(\(name),\(locale))"
        }
    }

    /// Parses the form of `description`. Throws `RequestError`, for example for the form of a function.
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
                "the section key \(text) is a function of the program that built the order; only a program with this function can rebuild it"
            )
        }
        let name = RequestText.unquoted(arguments[0])
        if name.isEmpty { throw Self.malformed(text) }
        guard let key = try Self.read(function, name, arguments.dropFirst()) else { throw Self.malformed(text) }
        self = key
    }

    /// Parses a function with its arguments. Returns nil if the name or the number of arguments doesn't fit a function,
    /// or if a length or width is invalid, or a name or locale is empty. Throws for an unknown calendar.
    private static func read(_ function: String, _ name: String, _ arguments: ArraySlice<String>) throws -> SectionKey?
    {
        let (first, last) = (arguments.first ?? "", arguments.last ?? "")
        switch (function, arguments.count) {
        case ("prefix", 1): return Int(first).flatMap { prefixLengths.contains($0) ? .prefix(name, $0) : nil }
        case ("bucket", 1):
            return Double(first).flatMap { bucketWidths.contains($0) ? .bucket(name, width: $0) : nil }
        case ("relationship", 1):
            let attribute = RequestText.unquoted(first)
            return attribute.isEmpty ? nil : .relationship(name, name: attribute)
        case ("indexTitle", 1): return first.isEmpty ? nil : .indexTitle(name, locale: first)
        case (_, 0...2):
            guard let unit = CalendarUnit(rawValue: function) else { return nil }
            guard arguments.count == 2 else {
                return .date(name, unit, timeZone: arguments.isEmpty ? "UTC" : first)
            }
            guard let calendar = SectionCalendar(last) else { throw unknownCalendar(last) }
            return .date(name, unit, timeZone: first, calendar: calendar)
        default: return nil
        }
    }

    private static func malformed(_ text: String) -> RequestError {
        .malformed(
            "a section key is KEY, prefix(KEY,1), day(KEY), week(KEY), month(KEY), quarter(KEY), year(KEY), "
                + "day(KEY,Asia/Tokyo), day(KEY,Asia/Tokyo,japanese), bucket(KEY,1000), indexTitle(KEY,ja) "
                + "or relationship(PATH,KEY), not \"\(text)\"")
    }

    private static func unknownCalendar(_ name: String) -> RequestError {
        let names = ["iso8601"] + SectionCalendar.System.allCases.map(\.rawValue)
        return .malformed(
            "\"\(name)\" is not a calendar; write one of \(names.joined(separator: ", ")), or one with the day that its "
                + "weeks begin with, like gregorian=sunday")
    }
}
