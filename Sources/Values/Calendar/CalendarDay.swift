/// A day of the proleptic Gregorian calendar.
package struct CalendarDay: Equatable, Sendable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// Converts days since 1 January 1970. The algorithm is Howard Hinnant's civil_from_days ("chrono-Compatible
    /// Low-Level Date Algorithms").
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

    /// Returns the number of days from 1 January 1970 to the first day of a month; month 13 is January of the next
    /// year. The algorithm is Howard Hinnant's days_from_civil, the inverse of civil_from_days.
    package static func daysSince1970(year: Int, month: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year  // years from 1 March
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
