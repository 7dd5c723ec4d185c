/// A zone's yearly changes of the clocks, in the TZ form of POSIX, which the last line of a compiled zone may have,
/// e.g. "EET-2EEST,M4.5.5/0,M10.5.4/24" or "<+05>-5".
struct ZoneRule: Sendable {
    /// Valid offsets, in seconds ahead of UTC.
    static let offsets = -93_599...93_599

    /// A yearly change of the clocks: a day, and a time by the clock before the change.
    private struct Change {
        enum Day {
            /// Day 1 to 365 of the year; 29 February isn't counted.
            case withoutLeapDay(Int)
            /// Day 0 to 365 of the year; 29 February is counted.
            case ofYear(Int)
            /// A weekday of a month: week 5 is the last one, weekday 0 is Sunday.
            case ofMonth(Int, week: Int, weekday: Int)
        }

        let day: Day
        /// Seconds since the beginning of the day; may be negative, or exceed a day.
        let time: Int

        /// The moment in seconds since 1970, by the clock before the change.
        func seconds(in year: Int) -> Int { dayNumber(in: year) * 86_400 + time }

        private func dayNumber(in year: Int) -> Int {
            let first = CalendarDay.daysSince1970(year: year, month: 1)
            switch day {
            case .ofYear(let number): return first + number
            case .withoutLeapDay(let number):
                let isLeap = CalendarDay.daysSince1970(year: year, month: 13) - first == 366
                return first + number - (isLeap && number >= 60 ? 0 : 1)
            case .ofMonth(let month, let week, let weekday):
                let days =
                    CalendarDay.daysSince1970(
                        year: year, month: month)..<CalendarDay.daysSince1970(year: year, month: month + 1)
                // 1 January 1970 was a Thursday.
                let ahead = (weekday - (days.lowerBound + 4)) % 7
                let day = days.lowerBound + (ahead < 0 ? ahead + 7 : ahead) + (week - 1) * 7
                return day < days.upperBound ? day : day - 7
            }
        }
    }

    private struct Summer {
        let offset: Int
        let start: Change
        let end: Change
    }

    private let standard: Int
    private let summer: Summer?

    /// The period between two changes around a moment in seconds since 1970.
    func period(around seconds: Double) -> OffsetPeriod {
        guard let summer else { return OffsetPeriod(offset: Double(standard)) }
        let day = Int(((seconds + Double(standard)) / 86_400).rounded(.down))
        let year = CalendarDay(daysSince1970: day).year
        let years = year - 2...year + 2
        let starts = years.map { (summer.start.seconds(in: $0) - standard, summer.offset) }
        let ends = years.map { (summer.end.seconds(in: $0) - summer.offset, standard) }
        // If a change to standard time and one to summer time coincide, summer time continues: its change is sorted
        // last and wins.
        let changes = (ends + starts).sorted { ($0.0, $0.1 == standard ? 0 : 1) < ($1.0, $1.1 == standard ? 0 : 1) }
        let next = (0..<changes.count).firstNumber(fromWhich: { Double(changes[$0].0) > seconds })
        let last = next > 0 ? changes[next - 1] : nil
        return OffsetPeriod(
            start: last.map { Double($0.0) } ?? -.infinity,
            end: next < changes.count ? Double(changes[next].0) : .infinity,
            offset: Double(last?.1 ?? standard))
    }
}

extension ZoneRule {
    /// Parses a rule; nil if the text is malformed.
    init?(_ text: some Collection<UInt8>) {
        var parser = Parser(rest: Array(text)[...])
        guard parser.skipName(), let standard = parser.offset() else { return nil }
        self.standard = standard
        if parser.rest.isEmpty {
            summer = nil
            return
        }
        guard parser.skipName() else { return nil }
        var offset = standard + 3600
        if parser.rest.first != UInt8(ascii: ",") {
            guard let own = parser.offset() else { return nil }
            offset = own
        }
        guard Self.offsets.contains(offset), let start = parser.change(), let end = parser.change(),
            parser.rest.isEmpty
        else { return nil }
        summer = Summer(offset: offset, start: start, end: end)
    }

    private struct Parser {
        var rest: ArraySlice<UInt8>

        private mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard (1...3).contains(digits.count) else { return nil }
            rest = rest.dropFirst(digits.count)
            let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            return range.contains(number) ? number : nil
        }

        /// Skips the name of a zone, of at least three characters: EST or <+05>.
        mutating func skipName() -> Bool {
            let isQuoted = skip("<")
            let name = rest.prefix { byte in
                let character = Character(Unicode.Scalar(byte))
                return byte < 0x80
                    && (character.isLetter || isQuoted && (character.isNumber || "+-".contains(character)))
            }
            rest = rest.dropFirst(name.count)
            return name.count >= 3 && (!isQuoted || skip(">"))
        }

        /// Parses an offset, in seconds ahead of UTC. The text has hours, minutes and seconds with the opposite sign.
        mutating func offset() -> Int? { time(hours: 0...24).map { -$0 } }

        private mutating func time(hours range: ClosedRange<Int>) -> Int? {
            let isNegative = skip("-")
            if !isNegative { _ = skip("+") }
            guard let hours = number(range) else { return nil }
            var seconds = hours * 3600
            for unit in [60, 1] where skip(":") {
                guard let part = number(0...59) else { return nil }
                seconds += part * unit
            }
            return isNegative ? -seconds : seconds
        }

        mutating func change() -> Change? {
            guard skip(","), let day = day() else { return nil }
            guard skip("/") else { return Change(day: day, time: 7200) }
            return time(hours: 0...167).map { Change(day: day, time: $0) }
        }

        private mutating func day() -> Change.Day? {
            if skip("J") { return number(1...365).map { .withoutLeapDay($0) } }
            guard skip("M") else { return number(0...365).map { .ofYear($0) } }
            guard let month = number(1...12), skip("."), let week = number(1...5), skip("."),
                let weekday = number(0...6)
            else { return nil }
            return .ofMonth(month, week: week, weekday: weekday)
        }
    }
}
