/// Seconds since 1970 from one change of the clocks to the next, and the seconds that they are ahead of UTC.
struct OffsetPeriod: Equatable {
    var start = -Double.infinity
    var end = Double.infinity
    var offset = 0.0

    static let none = OffsetPeriod(start: .infinity, end: -.infinity)

    func contains(_ seconds: Double) -> Bool { seconds >= start && seconds < end }
}
