internal import FetchIndexCLibrary
internal import FetchIndexValues

extension PredicateFunction {
    /// The function's result; null if an argument has a type that the function doesn't support, or if the function has
    /// no result, like an average of no numbers.
    func apply(_ arguments: [PredicateValue]) -> PredicateValue {
        switch self {
        case .sum, .count, .min, .max, .average, .median, .mode, .stddev: return aggregate(arguments)
        case .uppercase, .lowercase, .length, .canonical:
            guard let text = arguments[0].value?.searchedText else { return .null }
            return apply(to: text)
        case .modulus:
            guard let left = Number(arguments[0]), let right = Number(arguments[1]) else { return .null }
            return left.remainder(dividingBy: right)?.value ?? .null
        case .now: return .null  // the compiler replaces the call by the current time
        default:
            guard let number = Number(arguments[0]) else { return .null }
            return apply(to: number)
        }
    }

    private func apply(to text: String) -> PredicateValue {
        switch self {
        case .uppercase: .one(.string(text.uppercased()))
        case .lowercase: .one(.string(text.lowercased()))
        case .length: .one(.integer(Int64(text.count)))
        default:
            .one(
                .string(
                    String(
                        decoding: TextFolding([.caseInsensitive, .diacriticInsensitive]).fold(text), as: UTF8.self)))
        }
    }

    private func apply(to number: Number) -> PredicateValue {
        switch self {
        case .negative: (.integer(0) - number).value
        case .onesComplement: number.integer.map { .one(.integer(~$0)) } ?? .null
        case .sqrt: .one(.double(number.double.squareRoot()))
        case .log: .one(.double(log10(number.double)))
        case .ln: .one(.double(number.double.naturalLogarithm))
        case .exp: .one(.double(number.double.exponential))
        case .floor: number.rounded(.down).value
        case .ceiling: number.rounded(.up).value
        case .trunc: number.rounded(.towardZero).value
        default: number.magnitude.value
        }
    }

    // MARK: Aggregates

    private func aggregate(_ arguments: [PredicateValue]) -> PredicateValue {
        let all = arguments.count == 1 ? arguments[0].elements : arguments
        let values = all.filter { !$0.isNull }
        if self == .count { return .one(.integer(Int64(values.count))) }
        if self == .min || self == .max { return extreme(of: values) }
        if self == .mode { return .list(Self.mostFrequent(of: values)) }
        var numbers: [Number] = []
        for value in values {
            guard let number = Number(value) else { return .null }
            numbers.append(number)
        }
        let sum = numbers.reduce(.integer(0), +)
        if self == .sum { return sum.value }
        if numbers.isEmpty { return .null }
        if let exact = exactMean(of: numbers, sum) { return exact.value }
        let doubles = numbers.map(\.double)
        let mean = sum.double / Double(doubles.count)
        switch self {
        case .average: return .one(.double(mean))
        case .stddev:
            let squares = doubles.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            return .one(.double((squares / Double(doubles.count)).squareRoot()))
        default: return .one(.double(Self.middle(of: doubles.sorted())))
        }
    }

    /// Calculates an average or a median with decimals. Returns nil for other functions, and if the sum of the numbers
    /// isn't a decimal, for example because one of them is a double.
    private func exactMean(of numbers: [Number], _ sum: Number) -> Number? {
        guard self == .average || self == .median, case .decimal = sum else { return nil }
        if self == .average { return sum.divided(by: .integer(Int64(numbers.count))) }
        let sorted = numbers.compactMap(\.decimal).sorted()
        let half = sorted.count / 2
        let upper = Number.decimal(sorted[half])
        return sorted.count % 2 == 1 ? upper : (Number.decimal(sorted[half - 1]) + upper).divided(by: .integer(2))
    }

    /// The median of sorted numbers: the number in the middle, or the mean of the two in the middle.
    private static func middle(of sorted: [Double]) -> Double {
        let half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }

    /// The least or the greatest value; null if `values` is empty, or has a list, a dictionary, or values that can't be
    /// compared with each other.
    private func extreme(of values: [PredicateValue]) -> PredicateValue {
        var found: Value?
        for value in values {
            guard let value = value.value else { return .null }
            guard let best = found else {
                found = value
                continue
            }
            guard let order = value.compare(to: best) else { return .null }
            if order == (self == .min ? .ascending : .descending) { found = value }
        }
        return found.map { .one($0) } ?? .null
    }

    /// The most frequent values, in ascending order if they can be compared. O(n + m log m) for m most frequent values.
    private static func mostFrequent(of values: [PredicateValue]) -> [PredicateValue] {
        let groups = Dictionary(grouping: values) { value in
            // Equal whole numbers of different types count as one value.
            value.value?.exactly(as: .integer).map(PredicateValue.one) ?? value
        }
        let most = groups.values.map(\.count).max() ?? 0
        return groups.values.filter { $0.count == most }.map { $0[0] }.sorted { Comparator.less.holds($0, $1) }
    }
}

extension CollectionOperator {
    /// The function that the operator applies to a list. `@count` is evaluated without it, because `@count` also counts
    /// nulls.
    var function: PredicateFunction {
        switch self {
        case .count: .count
        case .sum: .sum
        case .avg: .average
        case .min: .min
        case .max: .max
        }
    }
}

// In the methods of `PredicateFunction`, its cases `log` and `exp` hide the C library's functions of these names.
extension Double {
    fileprivate var naturalLogarithm: Double { log(self) }
    fileprivate var exponential: Double { exp(self) }
}
