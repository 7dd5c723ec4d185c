internal import FetchIndexEssentials
internal import FetchIndexValues

extension ArithmeticOperator {
    /// The result for two operands. Null if an operand is null or has a type that the operator doesn't support, or if
    /// the divisor is zero and neither operand is a double.
    func apply(_ left: PredicateValue, _ right: PredicateValue) throws -> PredicateValue {
        if let moment = moment(left, right) { return moment }
        guard let left = Number(left), let right = Number(right) else { return .null }
        switch self {
        case .add: return (left + right).value
        case .subtract: return (left - right).value
        case .multiply: return (left * right).value
        case .divide: return left.divided(by: right)?.value ?? .null
        case .power: return left.power(right).value
        case .and, .or, .xor, .shiftLeft, .shiftRight:
            guard let left = left.integer, let right = right.integer else { return .null }
            return .one(.integer(bits(left, right)))
        }
    }

    /// Shifts like Swift's smart shifts: shifting 64 bits or more gives 0 (to the left) or the sign, 0 or -1 (to the
    /// right), and a negative amount shifts in the other direction.
    private func bits(_ left: Int64, _ right: Int64) -> Int64 {
        switch self {
        case .and: left & right
        case .or: left | right
        case .xor: left ^ right
        case .shiftLeft: left << right
        default: left >> right
        }
    }

    /// Adds seconds to a date, subtracts seconds from a date, or subtracts two dates, which gives seconds. Returns nil
    /// for other operands.
    private func moment(_ left: PredicateValue, _ right: PredicateValue) -> PredicateValue? {
        switch (self, left, right) {
        case (.add, .one(.date(let date)), _), (.subtract, .one(.date(let date)), _):
            if case .one(.date(let other)) = right {
                return self == .subtract ? .one(.double(date.timeIntervalSince(other))) : nil
            }
            guard let seconds = Number(right)?.double else { return nil }
            return .one(.date(date.addingTimeInterval(self == .add ? seconds : -seconds)))
        case (.add, _, .one(.date(let date))):
            return Number(left).map { .one(.date(date.addingTimeInterval($0.double))) }
        default: return nil
        }
    }
}
