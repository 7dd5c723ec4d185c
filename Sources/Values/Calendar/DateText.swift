package import FetchIndexEssentials

/// Parses a date like 2016-05-16, or a date and time like 2016-05-16T01:30:00Z. A blank may replace the T; a fraction
/// may follow the seconds, after a point or a comma; an offset from UTC is written +09:00, +0900 or +09. A time without
/// an offset is in UTC. The calendar is the proleptic Gregorian one.
package struct DateText {
    /// Examples of the accepted forms, for error messages.
    package static let forms = "2024-01-31, 2024-01-31T03:04:05Z or 2024-01-31 03:04:05.678+09:00"

    private let text: UnsafeRawBufferPointer
    private var place = 0

    private init(_ text: UnsafeRawBufferPointer) { self.text = text }

    /// Parses a whole text as a date; nil if the text isn't one.
    package static func date(_ text: UnsafeRawBufferPointer) -> Date? {
        // Quickly rejects most texts that aren't dates.
        guard text.count >= 10, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-") else { return nil }
        var reader = DateText(text)
        guard let day = reader.day() else { return nil }
        if reader.isAtEnd { return Date(daysSince1970: day, seconds: 0, fraction: "") }
        guard reader.skip("T") || reader.skip(" "), let seconds = reader.clock() else { return nil }
        let start = reader.place + 1
        if reader.skip(".") || reader.skip(",") {
            while reader.digit() != nil {}
            if reader.place == start { return nil }
        }
        let fraction = UnsafeRawBufferPointer(rebasing: text[min(start, reader.place)..<reader.place])
        guard let offset = reader.offset(), reader.isAtEnd else { return nil }
        return Date(daysSince1970: day, seconds: seconds - offset, fraction: fraction)
    }

    private var isAtEnd: Bool { place == text.count }

    private mutating func skip(_ letter: Unicode.Scalar) -> Bool {
        guard place < text.count, text[place] == UInt8(ascii: letter) else { return false }
        place += 1
        return true
    }

    private mutating func digit() -> Int? {
        guard place < text.count, (48...57).contains(text[place]) else { return nil }
        place += 1
        return Int(text[place - 1] - 48)
    }

    private mutating func number(digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Parses the date. Returns days since 1970.
    private mutating func day() -> Int? {
        guard let year = number(digits: 4), skip("-"), let month = number(digits: 2), skip("-"),
            let day = number(digits: 2)
        else { return nil }
        return CalendarDay.daysSince1970(year: year, month: month, day: day)
    }

    /// Parses the time. Returns seconds since midnight.
    private mutating func clock() -> Int? {
        guard let hour = number(digits: 2), skip(":"), let minute = number(digits: 2), skip(":"),
            let second = number(digits: 2), hour < 24, minute < 60, second < 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Parses the offset. Returns seconds east of UTC; 0 if the offset is missing.
    private mutating func offset() -> Int? {
        if isAtEnd || skip("Z") { return 0 }
        _ = skip(" ")
        let isWest = skip("-")
        guard isWest || skip("+"), let hours = number(digits: 2), hours < 24 else { return nil }
        var minutes = 0
        if !isAtEnd {
            _ = skip(":")
            guard let read = number(digits: 2), read < 60 else { return nil }
            minutes = read
        }
        let seconds = hours * 3600 + minutes * 60
        return isWest ? -seconds : seconds
    }
}

extension CalendarDay {
    /// The days since 1970; nil if the month or the day doesn't exist.
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int? {
        guard (1...12).contains(month) else { return nil }
        let first = daysSince1970(year: year, month: month)
        let length = daysSince1970(year: year, month: month + 1) - first
        return (1...length).contains(day) ? first + day - 1 : nil
    }
}
