internal import CFetchIndexICU

/// The months, quarters and years of a calendar that ICU computes. Not thread-safe.
final class ICUCalendar {
    /// Identifies a unit: two days are in the same unit if their unit numbers are equal.
    private struct UnitNumber: Equatable {
        let era: Int32
        let year: Int32
        let part: Int32
        let isLeapMonth: Bool
    }

    /// The days since 1970 of the Gregorian years 1 to 9999.
    static let days = -719_162..<2_932_897
    /// The maximum number of cached units.
    static let capacity = 4096

    private let system: SectionCalendar.System
    private let unit: CalendarUnit
    private let calendar: OpaquePointer
    /// Cached units in ascending order.
    private var known: [Range<Int>] = []

    init(_ system: SectionCalendar.System, _ unit: CalendarUnit) throws(UnusableCalendar) {
        guard let calendar = fi_calendar_open(system.rawValue) else {
            throw UnusableCalendar(description: "ICU does not have the calendar \(system.rawValue)")
        }
        self.system = system
        self.unit = unit
        self.calendar = calendar
    }

    deinit { fi_calendar_close(calendar) }

    /// The unit that contains a day, in days since 1970; nil outside of `days`. O(log n) if the unit is cached.
    func days(around day: Int) throws(UnusableCalendar) -> Range<Int>? {
        guard Self.days.contains(day) else { return nil }
        let place = (0..<known.count).firstNumber(fromWhich: { known[$0].upperBound > day })
        if place < known.count && known[place].contains(day) { return known[place] }
        let found = try find(around: day)
        if known.count == Self.capacity {
            known = [found]
        } else {
            known.insert(found, at: place)
        }
        return found
    }

    private func find(around day: Int) throws(UnusableCalendar) -> Range<Int> {
        let number = try number(of: day)
        // More days than any unit has.
        let reach = unit == .month ? 40 : unit == .quarter ? 130 : 400
        let first = try (day - reach..<day).firstNumber { (other) throws(UnusableCalendar) in
            try self.number(of: other) == number
        }
        let end = try (day + 1..<day + reach).firstNumber { (other) throws(UnusableCalendar) in
            try self.number(of: other) != number
        }
        return max(first, Self.days.lowerBound)..<min(end, Self.days.upperBound)
    }

    private func number(of day: Int) throws(UnusableCalendar) -> UnitNumber {
        var fields: (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        let isKnown = withUnsafeMutableBytes(of: &fields) { bytes in
            fi_calendar_fields(calendar, Int32(day), bytes.assumingMemoryBound(to: Int32.self).baseAddress)
        }
        guard isKnown else {
            throw UnusableCalendar(
                description: "ICU cannot place day \(day) since 1970 in the calendar \(system.rawValue)")
        }
        let (era, year, month, leapMonth) = fields
        switch unit {
        case .month: return UnitNumber(era: era, year: year, part: month, isLeapMonth: leapMonth != 0)
        case .quarter: return UnitNumber(era: era, year: year, part: month / 3, isLeapMonth: false)
        case .day, .week, .year: return UnitNumber(era: era, year: year, part: 0, isLeapMonth: false)
        }
    }
}
