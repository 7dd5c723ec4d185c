/// The sections of instants: units of a calendar in a time zone. For one thread at a time.
///
/// An instant belongs to the unit of its local date, however long the day is when clocks change. A unit may begin with
/// a day that the zone skipped, and is still named by that day.
package final class DateSections {
    private let zone: TimeZoneOffsets
    private let unit: CalendarUnit
    private let calendar: SectionCalendar
    /// ICU's calendar; nil if Gregorian arithmetic is enough.
    private let other: ICUCalendar?
    /// The days since 1970 of the section last named: neighbouring rows often share a section.
    private var lastDays = 0..<0
    private var lastName: [UInt8] = []

    package init(_ unit: CalendarUnit, timeZone: String, _ calendar: SectionCalendar) throws {
        guard calendar.has(unit) else {
            throw UnusableCalendar(
                description: "the calendar \(calendar) has no quarters: its years do not always have twelve months")
        }
        zone = try TimeZoneOffsets(timeZone)
        self.unit = unit
        self.calendar = calendar
        let isGregorian = calendar.system == .gregorian || unit == .day || unit == .week
        other = isGregorian ? nil : try ICUCalendar(calendar.system, unit)
    }

    /// The versions of the data that sections depend on.
    package var versions: [String] {
        (zone.dataVersion.isEmpty ? [] : ["zones \(zone.dataVersion)"])
            + (other == nil ? [] : [ICUVersion.library, ICUVersion.localeData])
    }

    /// The name, in UTF-8, of the section of an instant in seconds since 2001.
    package func name(of moment: Double) throws(UnusableCalendar) -> [UInt8] {
        let day = zone.day(of: moment)
        if !lastDays.contains(day) {
            let days = try other?.days(around: day)
            lastDays = days ?? unit.gregorianDays(around: day, weeksFrom: calendar.firstWeekday)
            let named = calendar.hasName(for: unit) ? unit : .day
            lastName.removeAll(keepingCapacity: true)
            named.appendName(ofFirst: lastDays.lowerBound, to: &lastName)
        }
        return lastName
    }
}
