/// A period between two changes of the clocks, in seconds since 1970, and its offset in seconds ahead of UTC.
struct OffsetPeriod: Equatable {
    var start = -Double.infinity
    var end = Double.infinity
    var offset = 0.0

    static let none = OffsetPeriod(start: .infinity, end: -.infinity)

    func contains(_ seconds: Double) -> Bool { seconds >= start && seconds < end }
}
