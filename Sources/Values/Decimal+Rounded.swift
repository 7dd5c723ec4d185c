package import FetchIndexEssentials

extension Decimal {
    /// Rounds to a whole number: down, up, or toward zero by any other rule. Cuts the printed digits at the point, then
    /// corrects by one where the rule needs it.
    package func rounded(_ rule: FloatingPointRoundingRule) -> Decimal {
        guard let digits = description.split(separator: ".").first, let whole = Decimal(string: String(digits)) else {
            return self
        }
        if rule == .down && whole > self { return whole - 1 }
        return rule == .up && whole < self ? whole + 1 : whole
    }
}
