/// A calendar that defines the weeks, months, quarters and years by which dates are grouped.
///
/// A section has its unit's name in the style of ISO 8601: 2016-05-16, 2016-W20, 2016-05, 2016-Q2 or 2016. In calendars
/// other than the Gregorian one, a week, month, quarter or year is named by the ISO date of its first day, as is a week
/// that doesn't begin on Monday: in `.japanese` the year 令和元年 is 2019-05-01.
///
/// A year, quarter or month ends when its era ends: the year 平成31年 ends on 30 April 2019. The Gregorian calendar is
/// proleptic, and replaces every other calendar outside of the years 1 to 9999. The installed ICU computes the other
/// calendars; its versions differ by a day in some Chinese months.
public struct SectionCalendar: Hashable, Sendable {
    /// The calendar that defines months, quarters and years; raw values are CLDR's names.
    public enum System: String, CaseIterable, Hashable, Sendable {
        case gregorian
        case japanese
        case buddhist
        case republicOfChina = "roc"
        case hebrew
        case islamicCivil = "islamic-civil"
        case islamicUmmAlQura = "islamic-umalqura"
        case persian
        case indian
        case coptic
        case ethiopic
        case chinese
        case dangi
    }

    public enum Weekday: String, CaseIterable, Hashable, Sendable {
        case monday
        case tuesday
        case wednesday
        case thursday
        case friday
        case saturday
        case sunday

        var daysAfterMonday: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    public let system: System
    public let firstWeekday: Weekday

    /// The default: the Gregorian calendar with weeks that begin on Monday. A year's first week has at least four days
    /// of that year.
    public static let iso8601 = SectionCalendar(.gregorian)
    public static let japanese = SectionCalendar(.japanese)
    public static let buddhist = SectionCalendar(.buddhist)
    public static let republicOfChina = SectionCalendar(.republicOfChina)
    public static let hebrew = SectionCalendar(.hebrew)
    public static let islamicCivil = SectionCalendar(.islamicCivil)
    public static let islamicUmmAlQura = SectionCalendar(.islamicUmmAlQura)
    public static let persian = SectionCalendar(.persian)
    public static let indian = SectionCalendar(.indian)
    public static let coptic = SectionCalendar(.coptic)
    public static let ethiopic = SectionCalendar(.ethiopic)
    public static let chinese = SectionCalendar(.chinese)
    public static let dangi = SectionCalendar(.dangi)

    public init(_ system: System, weeksFrom firstWeekday: Weekday = .monday) {
        self.system = system
        self.firstWeekday = firstWeekday
    }

    /// This calendar with weeks that begin on another day.
    public func weeks(from firstWeekday: Weekday) -> SectionCalendar {
        SectionCalendar(system, weeksFrom: firstWeekday)
    }

    /// Whether a unit has a name in the style of ISO 8601.
    func hasName(for unit: CalendarUnit) -> Bool {
        switch unit {
        case .day: true
        case .week: self == .iso8601
        case .month, .quarter, .year: system == .gregorian
        }
    }

    /// Whether the calendar has a unit. Calendars that have years of thirteen months have no quarters.
    func has(_ unit: CalendarUnit) -> Bool {
        switch system {
        case .hebrew, .coptic, .ethiopic, .chinese, .dangi: unit != .quarter
        case .gregorian, .japanese, .buddhist, .republicOfChina, .islamicCivil, .islamicUmmAlQura, .persian, .indian:
            true
        }
    }
}

extension SectionCalendar: CustomStringConvertible {
    /// The calendar's name, with the first day of its weeks if not Monday: iso8601, japanese, gregorian=sunday or
    /// japanese=sunday.
    public var description: String {
        if self == .iso8601 { return "iso8601" }
        return firstWeekday == .monday ? system.rawValue : "\(system.rawValue)=\(firstWeekday.rawValue)"
    }

    /// Reads the form of `description`; iso8601 and gregorian both name the Gregorian calendar.
    public init?(_ description: String) {
        let parts = description.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let system = parts[0] == "iso8601" ? .gregorian : System(rawValue: parts[0]),
            let weekday = parts.count == 1 ? .monday : Weekday(rawValue: parts[1])
        else { return nil }
        self.init(system, weeksFrom: weekday)
    }
}

/// A calendar that can't group dates as requested.
public struct UnusableCalendar: Error, Equatable, CustomStringConvertible {
    public let description: String
}
