package import FetchIndexEssentials

extension Date {
    /// The reference date (1 January 2001) in seconds since 1970.
    private static let referenceSeconds = 978_307_200

    /// Creates a date from days, seconds and the decimal digits of a fraction. Rounds down a fraction of more digits
    /// than a double distinguishes. The farther a date is from 2001, the fewer digits a double distinguishes.
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

    /// A double holds every whole number of 15 digits exactly.
    private static let mostDigits = 15
    private static let powers = (0...mostDigits).map { Double("1e\($0)") ?? 1 }

    /// The number of fraction digits that a double of this size can distinguish.
    private static func places(beside whole: Double) -> Int {
        let step = (whole.magnitude + 1).ulp
        return powers.lastIndex { 1 / $0 > step } ?? 0
    }

    /// The maximum number of fraction digits that are read and printed for seconds of this size. Nine identify a date
    /// in nearly all years; near 2001, doubles need more.
    private static func mostPlaces(beside whole: Double) -> Int { places(beside: whole) < 9 ? 9 : mostDigits }

    /// Creates the date of whole + digits / 10^places seconds after 2001. Rounds down if a double can't
    /// distinguish this many digits.
    private init(whole: Double, digits: Double, places: Int) {
        var (digits, places) = (digits, places)
        while places > 0, digits.remainder(dividingBy: 10) == 0 { (digits, places) = (digits / 10, places - 1) }
        let told = Self.places(beside: whole)
        let scale = Self.powers[places]
        var number = whole + digits / scale
        if places > told {
            // Takes the next lower double while the double is later than the given time. The difference is exact, and
            // the fused multiplication and addition keeps the sign of the remainder, so this comparison is exact, too.
            while (-digits).addingProduct(number - whole, scale) > 0 { number = number.nextDown }
            // If the fraction, rounded to the digits that a double distinguishes, would print as a later time than was
            // given, takes the next lower double.
            let fewer = ((number - whole) * Self.powers[told]).rounded()
            let isLater = fewer * Self.powers[places - told] > digits
            if isLater && whole + fewer / Self.powers[told] == number { number = max(number.nextDown, whole) }
        }
        self.init(timeIntervalSinceReferenceDate: number)
    }

    /// Returns the fraction of a second as a whole number of `places` digits, rounded down, so that reading the digits
    /// back doesn't give a later date.
    private static func digits(of number: Double, after whole: Double, places: Int) -> Double {
        let scale = powers[places]
        let digits = ((number - whole) * scale).rounded(.down)
        let next = Date(whole: whole, digits: digits + 1, places: places).timeIntervalSinceReferenceDate
        // The nearest double to 0.333 can be less than 0.333; rounding down would then give 0.332.
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
    /// The years 0 to 9999, which have at most four digits, in seconds after 2001.
    private static let namedDates = -63_145_526_400.0..<252_423_993_600.0

    /// ISO 8601 in UTC, with milliseconds unless the seconds are whole: 2016-05-16T01:30:00Z. Further digits are cut
    /// off. A date 9e15 seconds or more from 2001 is written in seconds after 2001.
    package var iso8601: String {
        let seconds = timeIntervalSinceReferenceDate
        guard seconds.magnitude < 9e15 else { return "\(seconds)" + Self.unnamed }
        let whole = seconds.rounded(.down)
        if whole == seconds { return Self.name(ofWhole: whole) + "Z" }
        let milliseconds = Int(Self.digits(of: seconds, after: whole, places: 3))
        return "\(Self.name(ofWhole: whole)).\(Self.padded(milliseconds, 3))Z"
    }

    /// ISO 8601 with enough fraction digits to identify the date: 2016-05-16T01:30:00.042187500Z. Dates that this form
    /// can't identify, such as those outside of the years 0 to 9999, are written in seconds after 2001.
    /// `init(exactText:)` reads the same date back.
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
            // Rounds to the digits that the double distinguishes, and pads them with zeros.
            let scale = Self.powers[max(places - told, 0)]
            let digits = ((seconds - whole) * Self.powers[places] / scale).rounded() * scale
            if let text = text(digits, places) { return text }
        }
        // Rounds up, because `init(exactText:)` rounds down.
        return text(((seconds - whole) * Self.powers[most]).rounded(.up), most) ?? plain
    }

    /// Parses the output of `exactText`, and all forms that `DateText` reads.
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
