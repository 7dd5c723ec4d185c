package import FetchIndexPlatform

extension Date {
    /// The reference date, counted since 1970.
    private static let referenceSeconds = 978_307_200

    /// A moment, with a fraction of a second as decimal digits. A date is a double, which far from 2001 has few digits left for a
    /// fraction: those that it cannot tell apart are cut, and no moment becomes a later one.
    package init(daysSince1970 days: Int, seconds: Int, fraction: UnsafeRawBufferPointer) {
        let whole = Double(days * 86_400 + seconds - Self.referenceSeconds)
        let most = Self.mostPlaces(beside: whole)
        let digits = fraction.prefix(most).reduce(0) { $0 * 10 + Double($1 - 48) }
        self.init(whole: whole, digits: digits, places: min(fraction.count, most))
    }

    package init(daysSince1970 days: Int, seconds: Int, fraction: String) {
        var fraction = fraction
        self = fraction.withUTF8 {
            Date(daysSince1970: days, seconds: seconds, fraction: UnsafeRawBufferPointer($0))
        }
    }

    /// A double has them exactly.
    private static let mostDigits = 15
    private static let powers = (0...mostDigits).map { Double("1e\($0)") ?? 1 }

    /// How many digits of a fraction are told apart beside a whole number of seconds: each is another double.
    private static func places(beside whole: Double) -> Int {
        let step = (whole.magnitude + 1).ulp
        return powers.lastIndex { 1 / $0 > step } ?? 0
    }

    /// How many digits of a fraction are read, and printed: with nine a date is known in nearly all years.
    private static func mostPlaces(beside whole: Double) -> Int { places(beside: whole) < 9 ? 9 : mostDigits }

    /// A whole number of seconds after 2001, and a fraction as a whole number that is shifted by some places.
    private init(whole: Double, digits: Double, places: Int) {
        var (digits, places) = (digits, places)
        while places > 0, digits.remainder(dividingBy: 10) == 0 { (digits, places) = (digits / 10, places - 1) }
        let told = Self.places(beside: whole)
        let scale = Self.powers[places]
        var number = whole + digits / scale
        if places > told {
            // The difference is exact, and so is the sign of what is left of it.
            while (-digits).addingProduct(number - whole, scale) > 0 { number = number.nextDown }
            // With fewer digits it could print as a later moment.
            let fewer = ((number - whole) * Self.powers[told]).rounded()
            let isLater = fewer * Self.powers[places - told] > digits
            if isLater && whole + fewer / Self.powers[told] == number { number = max(number.nextDown, whole) }
        }
        self.init(timeIntervalSinceReferenceDate: number)
    }

    /// The fraction of a second that a date has, in digits of so many places, cut off: reading them gives no later date.
    private static func digits(of number: Double, after whole: Double, places: Int) -> Double {
        let scale = powers[places]
        let digits = ((number - whole) * scale).rounded(.down)
        let next = Date(whole: whole, digits: digits + 1, places: places).timeIntervalSinceReferenceDate
        // A third of a second can be less than 0.333, whose nearest double it is.
        return digits + 1 < scale && next <= number ? digits + 1 : digits
    }

    private static func name(ofWhole seconds: Double) -> String {
        let seconds = Int(seconds) + referenceSeconds
        let day = (seconds - (seconds < 0 ? 86_399 : 0)) / 86_400
        let time = seconds - day * 86_400
        let clock = [time / 3600, time / 60 % 60, time % 60].map { padded($0, 2) }.joined(separator: ":")
        var name: [UInt8] = []
        CalendarUnit.day.appendName(ofFirst: day, to: &name)
        return "\(String(decoding: name, as: UTF8.self))T\(clock)"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static let unnamed = " seconds after 2001"
    /// Years of four digits, in seconds after 2001.
    private static let namedDates = -63_145_526_400.0..<252_423_993_600.0

    /// ISO 8601 in UTC, with milliseconds when there are any: 2016-05-16T01:30:00Z. More digits are cut off.
    package var iso8601: String {
        let seconds = timeIntervalSinceReferenceDate
        guard seconds.magnitude < 9e15 else { return "\(seconds)" + Self.unnamed }
        let whole = seconds.rounded(.down)
        if whole == seconds { return Self.name(ofWhole: whole) + "Z" }
        let milliseconds = Int(Self.digits(of: seconds, after: whole, places: 3))
        return "\(Self.name(ofWhole: whole)).\(Self.padded(milliseconds, 3))Z"
    }

    /// ISO 8601 with as many digits as the date has: 2016-05-16T01:30:00.0421875Z. Dates outside
    /// of the years 1 to 9999 are written in seconds since 2001. `init(exactText:)` reads it back exactly.
    package var exactText: String {
        let seconds = timeIntervalSinceReferenceDate
        let plain = "\(seconds)" + Self.unnamed
        guard Self.namedDates.contains(seconds), seconds != 0 || seconds.sign == .plus else { return plain }
        let whole = seconds.rounded(.down)
        if whole == seconds { return Self.name(ofWhole: whole) + "Z" }
        func text(_ digits: Double, _ places: Int) -> String? {
            guard digits < Self.powers[places], Date(whole: whole, digits: digits, places: places) == self else {
                return nil
            }
            return "\(Self.name(ofWhole: whole)).\(Self.padded(Int(digits), places))Z"
        }
        let (told, most) = (Self.places(beside: whole), Self.mostPlaces(beside: whole))
        for places in [3, 6, 9, 12] where places <= most {
            // Digits that the date tells apart, with zeros behind them.
            let scale = Self.powers[max(places - told, 0)]
            let digits = ((seconds - whole) * Self.powers[places] / scale).rounded() * scale
            if let text = text(digits, places) { return text }
        }
        // As few digits as no moment before it has.
        return text(((seconds - whole) * Self.powers[most]).rounded(.up), most) ?? plain
    }

    /// Reads what `exactText` writes, and all forms of `DateText`.
    package init?(exactText text: String) {
        if text.hasSuffix(Self.unnamed), let seconds = Double(text.dropLast(Self.unnamed.count)) {
            self.init(timeIntervalSinceReferenceDate: seconds)
        } else {
            self.init(iso8601: text)
        }
    }

    package init?(iso8601 text: String) {
        var text = text
        guard let date = text.withUTF8({ DateText.date(UnsafeRawBufferPointer($0)) }) else { return nil }
        self = date
    }
}
