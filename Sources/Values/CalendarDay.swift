/// A day of the Gregorian calendar.
package struct CalendarDay: Equatable, Sendable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// The day that is some days after 1 January 1970. The algorithm is Howard Hinnant's civil_from_days
    /// ("chrono-Compatible Low-Level Date Algorithms").
    package init(daysSince1970: Int) {
        let shifted = daysSince1970 + 719_468  // days since 1 March of year 0
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}

/// A part of the calendar that dates are grouped by.
public enum CalendarUnit: String, Hashable, Sendable {
    case day
    case month
    case year

    /// The name of the unit that a day lies in, as ISO 8601: 2016-05-16, 2016-05 or 2016.
    package func name(of day: CalendarDay) -> String {
        let year = Self.padded(day.year.magnitude, to: 4)
        let signed = day.year < 0 ? "-" + year : year
        switch self {
        case .day:
            return "\(signed)-\(Self.padded(day.month.magnitude, to: 2))-\(Self.padded(day.day.magnitude, to: 2))"
        case .month: return "\(signed)-\(Self.padded(day.month.magnitude, to: 2))"
        case .year: return signed
        }
    }

    private static func padded(_ number: UInt, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
