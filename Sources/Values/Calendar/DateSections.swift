/// Groups instants by a calendar unit in a time zone. Not thread-safe.
///
/// An instant belongs to the unit that contains its local date, whatever the length of the day when clocks change. If
/// the zone skipped a unit's first day, the unit has its usual name.
package final class DateSections {
    private let zone: TimeZoneOffsets
    private let unit: CalendarUnit
    private let calendar: SectionCalendar
    /// ICU's calendar; nil if Gregorian arithmetic is enough.
    private let other: ICUCalendar?
    /// The section that `lastName` names, as a range of days since 1970. It's cached, because neighbouring rows often
    /// share a section.
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

    /// The versions of the time zone and calendar data that affect the sections.
    package var versions: [String] {
        (zone.dataVersion.isEmpty ? [] : ["zones \(zone.dataVersion)"])
            + (other == nil ? [] : [ICUVersion.library, ICUVersion.localeData])
    }

    /// Returns the UTF-8 name of the section to which an instant, in seconds since 2001, belongs.
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
