/// A unit of the calendar that dates are grouped by.
public enum CalendarUnit: String, CaseIterable, Hashable, Sendable {
    case day
    case week
    case month
    /// Three months, or fewer if an era ends; not for calendars that have years of thirteen months.
    case quarter
    case year
}

extension CalendarUnit {
    /// The Gregorian unit that contains a day, as a range of days since 1970. O(1).
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

    /// Appends the name of a Gregorian unit in the style of ISO 8601, in ASCII: 2016-05-16, 2016-W20, 2016-05, 2016-Q2
    /// or 2016. `first` is the unit's first day in days since 1970. Weeks must begin on Monday.
    func appendName(ofFirst first: Int, to name: inout [UInt8]) {
        // The ISO year of a week is the year of its Thursday.
        let date = CalendarDay(daysSince1970: self == .week ? first + 3 : first)
        if date.year < 0 { name.append(UInt8(ascii: "-")) }
        Self.append(abs(date.year), digits: 4, to: &name)
        if self == .year { return }
        name.append(UInt8(ascii: "-"))
        switch self {
        case .year: break
        case .month: Self.append(date.month, digits: 2, to: &name)
        case .day:
            Self.append(date.month, digits: 2, to: &name)
            name.append(UInt8(ascii: "-"))
            Self.append(date.day, digits: 2, to: &name)
        case .quarter:
            name.append(UInt8(ascii: "Q"))
            Self.append((date.month + 2) / 3, digits: 1, to: &name)
        case .week:
            name.append(UInt8(ascii: "W"))
            let week = (first + 3 - CalendarDay.daysSince1970(year: date.year, month: 1)) / 7 + 1
            Self.append(week, digits: 2, to: &name)
        }
    }

    /// Appends a number in decimal with at least this many digits.
    private static func append(_ number: Int, digits: Int, to name: inout [UInt8]) {
        let start = name.count
        var rest = number
        repeat {
            name.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0 || name.count - start < digits
        name[start...].reverse()
    }
}
