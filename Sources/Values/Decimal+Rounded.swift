package import FetchIndexEssentials

extension Decimal {
    /// Rounds to a whole number: down, up, or, by any other rule, toward zero.
    package func rounded(_ rule: FloatingPointRoundingRule) -> Decimal {
        guard let digits = description.split(separator: ".").first, let whole = Decimal(string: String(digits)) else {
            return self
        }
        if rule == .down && whole > self { return whole - 1 }
        return rule == .up && whole < self ? whole + 1 : whole
    }
}
