internal import FetchIndexPlatform
/// Compares decimals in their stored form: plain digits, with or without a minus sign and a point.
enum DecimalText {
    private static let minus = UInt8(ascii: "-")
    private static let point = UInt8(ascii: ".")
    private static let zero = UInt8(ascii: "0")

    /// A decimal's digits before and after the point, without insignificant zeros.
    private struct Digits {
        let isNegative: Bool
        let whole: UnsafeRawBufferPointer.SubSequence
        let fraction: UnsafeRawBufferPointer.SubSequence

        init?(_ text: UnsafeRawBufferPointer) {
            var rest = text[...]
            let hasSign = rest.first == minus
            if hasSign { rest = rest.dropFirst() }
            let place = rest.firstIndex(of: point)
            let digits = rest[..<(place ?? rest.endIndex)]
            var behind = place.map { rest[($0 + 1)...] } ?? rest[rest.endIndex...]
            while behind.last == zero { behind = behind.dropLast() }
            guard !rest.isEmpty, digits.allSatisfy(Self.isDigit), behind.allSatisfy(Self.isDigit) else { return nil }
            whole = digits.drop { $0 == zero }
            fraction = behind
            isNegative = hasSign && !(whole.isEmpty && behind.isEmpty)
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (zero...zero + 9).contains(byte) }

        /// Compares the magnitudes; the result is negative if this decimal has the smaller one.
        func compareMagnitude(against other: Digits) -> Int {
            if whole.count != other.whole.count { return whole.count - other.whole.count }
            let order = RawSpan.order(whole, other.whole)
            // If one fraction is a prefix of the other, the longer one is greater.
            return order != 0 ? order : RawSpan.order(fraction, other.fraction)
        }
    }

    /// Compares two decimals; the result is negative if the first one is less. Nil if one of them isn't a decimal in
    /// plain digits. O(length).
    static func order(_ left: RawSpan, _ right: RawSpan) -> Int? {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let left = Digits(left), let right = Digits(right) else { return nil }
                if left.isNegative != right.isNegative { return left.isNegative ? -1 : 1 }
                let order = left.compareMagnitude(against: right)
                return left.isNegative ? -order : order
            }
        }
    }
}

extension RawSpan {
    fileprivate static func order(
        _ left: UnsafeRawBufferPointer.SubSequence, _ right: UnsafeRawBufferPointer.SubSequence
    ) -> Int {
        UnsafeRawBufferPointer(rebasing: left).bytes.compare(UnsafeRawBufferPointer(rebasing: right).bytes)
    }
}
