package import FetchIndexPlatform

extension Decimal {
    /// To a whole number, down, up or toward zero: its digits before the point, and one more where that is not enough.
    package func rounded(_ rule: FloatingPointRoundingRule) -> Decimal {
        guard let digits = description.split(separator: ".").first, let whole = Decimal(string: String(digits)) else {
            return self
        }
        if rule == .down && whole > self { return whole - 1 }
        return rule == .up && whole < self ? whole + 1 : whole
    }
}
