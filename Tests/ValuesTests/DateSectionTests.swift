import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

@Suite struct DateSectionTests {
    /// Computes the expected names with Foundation's calendar and time zones.
    private struct Oracle {
        private var calendar = Calendar(identifier: .iso8601)

        init(_ zone: String) throws { calendar.timeZone = try #require(TimeZone(identifier: zone)) }

        func name(_ unit: CalendarUnit, _ date: Date) -> String {
            let parts = calendar.dateComponents([.year, .month, .day, .yearForWeekOfYear, .weekOfYear], from: date)
            let (year, month) = (parts.year ?? 0, parts.month ?? 0)
            switch unit {
            case .day: return String(format: "%04d-%02d-%02d", year, month, parts.day ?? 0)
            case .week: return String(format: "%04d-W%02d", parts.yearForWeekOfYear ?? 0, parts.weekOfYear ?? 0)
            case .month: return String(format: "%04d-%02d", year, month)
            case .quarter: return String(format: "%04d-Q%d", year, (month - 1) / 3 + 1)
            case .year: return String(format: "%04d", year)
            }
        }
    }

    static let zones = [
        "UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns",
        "Pacific/Apia", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Kiritimati", "Europe/London",
    ]

    private func name(_ sections: DateSections, _ date: Date) throws -> String {
        String(decoding: try sections.name(of: date.timeIntervalSinceReferenceDate), as: UTF8.self)
    }

    private func name(
        _ date: String, _ unit: CalendarUnit, _ zone: String = "UTC", _ calendar: SectionCalendar = .iso8601
    ) throws -> String {
        guard case .date(let date) = Value(date, as: .date) else { return "\(date) isn't a date" }
        return try name(DateSections(unit, timeZone: zone, calendar), date)
    }

    @Test(arguments: zones) func sectionNamesAgreeWithFoundationAtRandomMoments(zone: String) throws {
        var generator = SeededGenerator(seed: 21)
        let oracle = try Oracle(zone)
        for unit in CalendarUnit.allCases {
            let sections = try DateSections(unit, timeZone: zone, .iso8601)
            for _ in 0..<500 {
                let date = Date(timeIntervalSince1970: .random(in: -1e9...1.9e9, using: &generator).rounded())
                #expect(try name(sections, date) == oracle.name(unit, date), "\(unit) in \(zone) at \(date), seed 21")
            }
        }
    }

    /// Compares moments around Foundation's daylight saving changes of 60 years.
    @Test(arguments: zones) func sectionNamesAgreeWithFoundationAroundClockChanges(zone: String) throws {
        let oracle = try Oracle(zone)
        let timeZone = try #require(TimeZone(identifier: zone))
        var date = Date(timeIntervalSince1970: 0)
        var changes = 0
        let sections = try CalendarUnit.allCases.map { ($0, try DateSections($0, timeZone: zone, .iso8601)) }
        while let change = timeZone.nextDaylightSavingTimeTransition(after: date), change.timeIntervalSince1970 < 1.9e9
        {
            for distance in [-86_400.0, -3600, -1, 0, 1, 3600, 86_400] {
                let moment = change.addingTimeInterval(distance)
                for (unit, sections) in sections {
                    #expect(try name(sections, moment) == oracle.name(unit, moment), "\(unit) in \(zone) at \(moment)")
                }
            }
            (date, changes) = (change, changes + 1)
        }
        let unchanging = ["UTC", "Asia/Tokyo", "Asia/Kathmandu", "Pacific/Kiritimati"]
        #expect((changes > 20) == !unchanging.contains(zone))
    }

    @Test func daySectionsFollowTimeZoneChanges() throws {
        func hours(_ zone: String, from start: String) throws -> [String: Int] {
            guard case .date(let start) = Value(start, as: .date) else { return [:] }
            let sections = try DateSections(.day, timeZone: zone, .iso8601)
            let names = try (0..<96).map { try name(sections, start.addingTimeInterval(Double($0) * 3600)) }
            return names.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(try hours("Europe/Berlin", from: "2016-03-25T23:00:00Z")["2016-03-27"] == 23)
        #expect(try hours("Europe/Berlin", from: "2016-10-28T22:00:00Z")["2016-10-30"] == 25)
        // In São Paulo, a day begins at one o'clock; in Apia, a day was skipped.
        #expect(try hours("America/Sao_Paulo", from: "2018-11-03T03:00:00Z")["2018-11-04"] == 23)
        #expect(try name("2018-11-04T02:59:59Z", .day, "America/Sao_Paulo") == "2018-11-03")
        #expect(try name("2018-11-04T03:00:00Z", .day, "America/Sao_Paulo") == "2018-11-04")
        let apia = try hours("Pacific/Apia", from: "2011-12-29T10:00:00Z")
        #expect(apia["2011-12-29"] == 24 && apia["2011-12-30"] == nil && apia["2011-12-31"] == 24)
        // A week that begins on Friday begins with the skipped day.
        let fromFriday = SectionCalendar.iso8601.weeks(from: .friday)
        #expect(try name("2011-12-31T00:00:00Z", .week, "Pacific/Apia", fromFriday) == "2011-12-30")
        #expect(try name("2011-12-30T09:59:59Z", .week, "Pacific/Apia", fromFriday) == "2011-12-23")
    }

    /// Walks through the days one by one, and counts months and weeks by the rules of the calendar.
    @Test(arguments: [(1900, 2100), (-8, 8), (9998, 10_004)]) func sectionNamesAgreeWithADayByDayCount(
        years: (first: Int, last: Int)
    ) throws {
        func length(_ month: Int, _ year: Int) -> Int {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        }
        func digits(_ year: Int) -> String { (year < 0 ? "-" : "") + String(format: "%04d", abs(year)) }
        let sections = try CalendarUnit.allCases.map { try DateSections($0, timeZone: "UTC", .iso8601) }
        var (number, year, month, day) = (CalendarDay.daysSince1970(year: years.first, month: 1), years.first, 1, 1)
        var week = ""
        var weekNumber = 0
        while year <= years.last {
            if (number + 3) % 7 == 0 {
                // Week 1 is the week with 4 January.
                let isFirst = month == 12 && day >= 29 || month == 1 && day <= 4
                weekNumber = isFirst ? 1 : weekNumber + 1
                week = "\(digits(month == 12 && isFirst ? year + 1 : year))-W\(String(format: "%02d", weekNumber))"
            }
            let date = "\(digits(year))-\(String(format: "%02d-%02d", month, day))"
            let names = [date, week, String(date.dropLast(3)), "\(digits(year))-Q\((month + 2) / 3)", digits(year)]
            let noon = Date(timeIntervalSince1970: Double(number) * 86_400 + 43_200)
            for (sections, expected) in zip(sections, names) where year > years.first + 1 {
                let found = try name(sections, noon)
                if found != expected { Issue.record("\(found) is not \(expected)") }
            }
            (number, day) = (number + 1, day + 1)
            if day > length(month, year) { (day, month) = (1, month + 1) }
            if month > 12 { (month, year) = (1, year + 1) }
        }
    }

    @Test func momentsOutsideTheRangeOfACalendarHaveSectionNames() throws {
        for system in SectionCalendar.System.allCases {
            for unit in CalendarUnit.allCases where SectionCalendar(system).has(unit) {
                let sections = try DateSections(unit, timeZone: "Asia/Tokyo", SectionCalendar(system))
                for moment in [Double.nan, .infinity, -.infinity, 1e300, -1e15, -62_135_596_800, 64_092_211_200] {
                    #expect(try !sections.name(of: moment).isEmpty, "\(system) \(unit) \(moment)")
                }
            }
        }
    }

    @Test func aSectionWithoutAnISONameIsNamedByItsFirstDay() throws {
        #expect(try name("2016-05-16T12:00:00Z", .week) == "2016-W20")
        #expect(try name("2016-05-16T12:00:00Z", .week, "UTC", .iso8601.weeks(from: .sunday)) == "2016-05-15")
        #expect(try name("2016-05-16T12:00:00Z", .month, "UTC", .iso8601.weeks(from: .sunday)) == "2016-05")
        #expect(try name("2016-05-16T12:00:00Z", .week, "UTC", .japanese) == "2016-05-16")
        #expect(try name("2019-04-30T12:00:00Z", .year, "UTC", .japanese) == "2019-01-01")
        #expect(try name("2019-05-01T12:00:00Z", .year, "UTC", .japanese) == "2019-05-01")
        #expect(try name("2019-04-30T15:00:00Z", .year, "Asia/Tokyo", .japanese) == "2019-05-01")
        #expect(try name("2019-05-01T12:00:00Z", .quarter, "UTC", .japanese) == "2019-05-01")
        #expect(try name("1989-01-07T12:00:00Z", .month, "UTC", .japanese) == "1989-01-01")
        #expect(try name("1989-01-31T12:00:00Z", .month, "UTC", .japanese) == "1989-01-08")
        #expect(try name("2020-03-01T12:00:00Z", .year, "UTC", .japanese) == "2020-01-01")
        // Early dates are Gregorian, too. Foundation would read these dates by the Julian calendar.
        for (system, unit) in [(SectionCalendar.System.japanese, CalendarUnit.month), (.buddhist, .quarter)] {
            let sections = try DateSections(unit, timeZone: "UTC", SectionCalendar(system))
            let day = CalendarDay.daysSince1970(year: 1500, month: 4)
            let lastDay = Date(timeIntervalSince1970: Double(day) * 86_400 - 1)
            #expect(try name(sections, lastDay) == (unit == .month ? "1500-03-01" : "1500-01-01"), "\(system)")
            #expect(try name(sections, lastDay.addingTimeInterval(1)) == "1500-04-01", "\(system)")
        }
        // The dates are Rosh Hashanah, the day before Nowruz, Chinese New Year, and the day before it.
        #expect(try name("2024-10-03T12:00:00Z", .year, "UTC", .hebrew) == "2024-10-03")
        #expect(try name("2024-03-19T12:00:00Z", .year, "UTC", .persian) == "2023-03-21")
        #expect(try name("2024-02-10T12:00:00Z", .year, "UTC", .chinese) == "2024-02-10")
        #expect(try name("2024-02-09T12:00:00Z", .month, "UTC", .chinese) == "2024-01-11")
        #expect(throws: UnusableCalendar.self) { try DateSections(.quarter, timeZone: "UTC", .hebrew) }
    }

    // The Chinese and Korean calendars are left out, because Foundation's ICU and the system's differ by a day at some
    // new moons.
    static let calendars: [(SectionCalendar.System, Calendar.Identifier)] = [
        (.japanese, .japanese), (.buddhist, .buddhist), (.republicOfChina, .republicOfChina), (.hebrew, .hebrew),
        (.islamicCivil, .islamicCivil), (.islamicUmmAlQura, .islamicUmmAlQura), (.persian, .persian),
        (.indian, .indian), (.coptic, .coptic), (.ethiopic, .ethiopicAmeteMihret),
    ]

    /// In Foundation's calendar, the day that names a section is in the section, and the day before isn't.
    @Test(arguments: calendars) func sectionsOfTenNonGregorianCalendarsAgreeWithFoundation(
        system: SectionCalendar.System, identifier: Calendar.Identifier
    ) throws {
        var generator = SeededGenerator(seed: 22)
        var calendar = Calendar(identifier: identifier)
        calendar.timeZone = .gmt
        for unit in [CalendarUnit.month, .year] {
            func same(_ left: Date, _ right: Date) -> Bool {
                let parts: Set<Calendar.Component> = unit == .month ? [.era, .year, .month] : [.era, .year]
                let (left, right) = (
                    calendar.dateComponents(parts, from: left), calendar.dateComponents(parts, from: right)
                )
                return (left.era, left.year, left.month) == (right.era, right.year, right.month)
                    && (unit == .year || left.isLeapMonth == right.isLeapMonth)
            }
            let sections = try DateSections(unit, timeZone: "UTC", SectionCalendar(system))
            for _ in 0..<300 {
                let day = Double(Int.random(in: -25_000..<29_000, using: &generator))
                let noon = Date(timeIntervalSince1970: (day + 0.5) * 86_400)
                let name = try name(sections, noon)
                guard case .date(let first) = Value(name + "T12:00:00Z", as: .date) else {
                    Issue.record("\(name) isn't a date")
                    continue
                }
                let comment: Comment = "\(system) \(unit) \(name) of \(noon), seed 22"
                #expect(first <= noon, comment)
                #expect(same(first, noon), comment)
                #expect(!same(first.addingTimeInterval(-86_400), noon), comment)
            }
        }
    }

    @Test(arguments: SectionCalendar.System.allCases) func unitsOfICUsCalendarsAdjoinWithoutGaps(
        system: SectionCalendar.System
    ) throws {
        var generator = SeededGenerator(seed: 23)
        for unit in [CalendarUnit.month, .quarter, .year] where SectionCalendar(system).has(unit) {
            let calendar = try ICUCalendar(system, unit)
            let bounds = ICUCalendar.days
            let random = (0..<60).map { _ in Int.random(in: bounds, using: &generator) }
            for day in [bounds.lowerBound, bounds.upperBound - 1] + random {
                let days = try #require(try calendar.days(around: day))
                let context: Comment = "\(system) \(unit) of day \(day): \(days), seed 23"
                #expect(days.contains(day), context)
                #expect(days.count < 400, context)
                #expect(try calendar.days(around: days.upperBound - 1) == days, context)
                #expect(try ICUCalendar(system, unit).days(around: days.lowerBound) == days, context)
                if let next = try calendar.days(around: days.upperBound) {
                    #expect(next.lowerBound == days.upperBound, context)
                }
            }
            #expect(try calendar.days(around: bounds.upperBound) == nil)
        }
    }

    @Test func calendarsReadBackFromTheirNames() {
        for system in SectionCalendar.System.allCases {
            for weekday in SectionCalendar.Weekday.allCases {
                let calendar = SectionCalendar(system, weeksFrom: weekday)
                #expect(SectionCalendar(calendar.description) == calendar, "\(calendar)")
            }
        }
        #expect(SectionCalendar("gregorian") == .iso8601)
        #expect(SectionCalendar.iso8601.description == "iso8601")
        for text in ["", "lunar", "japanese=", "japanese=sonntag", "=sunday", "japanese=sunday=monday"] {
            #expect(SectionCalendar(text) == nil, "\(text)")
        }
    }
}
