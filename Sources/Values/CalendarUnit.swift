/// A part of the calendar that dates are grouped by.
public enum CalendarUnit: String, CaseIterable, Hashable, Sendable {
    case day
    case week
    case month
    /// Three months of a year that always has twelve.
    case quarter
    case year
}

extension CalendarUnit {
    /// The days since 1970 of the Gregorian unit that a day lies in. O(1).
    func gregorianDays(around day: Int, weeksFrom firstWeekday: SectionCalendar.Weekday) -> Range<Int> {
        switch self {
        case .day: return day..<day + 1
        case .week:
            // 1 January 1970 was a Thursday, the fourth day from Monday.
            let sinceFirst = (day + 3 - firstWeekday.daysAfterMonday) % 7
            let first = day - (sinceFirst < 0 ? sinceFirst + 7 : sinceFirst)
            return first..<first + 7
        case .month, .quarter, .year:
            let date = CalendarDay(daysSince1970: day)
            let months = self == .month ? 1 : self == .quarter ? 3 : 12
            let month = (date.month - 1) / months * months + 1
            return CalendarDay.daysSince1970(
                year: date.year, month: month)..<CalendarDay.daysSince1970(year: date.year, month: month + months)
        }
    }

    /// The ISO 8601 name of the Gregorian unit that begins with a day since 1970, its weeks with Mondays: 2016-05-16,
    /// 2016-W20, 2016-05, 2016-Q2 or 2016.
    func name(ofFirst first: Int) -> String {
        let date = CalendarDay(daysSince1970: first)
        let (year, month) = (Self.year(date.year), Self.twoDigits(date.month))
        switch self {
        case .day: return "\(year)-\(month)-\(Self.twoDigits(date.day))"
        case .week:
            // A week belongs to the year that has its Thursday.
            let thursday = first + 3
            let year = CalendarDay(daysSince1970: thursday).year
            let week = (thursday - CalendarDay.daysSince1970(year: year, month: 1)) / 7 + 1
            return "\(Self.year(year))-W\(Self.twoDigits(week))"
        case .month: return "\(year)-\(month)"
        case .quarter: return "\(year)-Q\((date.month + 2) / 3)"
        case .year: return year
        }
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// At least four digits.
    private static func year(_ year: Int) -> String {
        let digits = String(year.magnitude)
        let padded = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        return year < 0 ? "-" + padded : padded
    }
}
