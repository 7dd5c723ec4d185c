extension Range<Int> {
    /// Binary search: returns the first number for which the condition holds, or the upper bound if it holds for none.
    /// The condition must hold for all numbers after the first one for which it holds. O(log n) calls.
    package func firstNumber<Failure: Error>(fromWhich holds: (Int) throws(Failure) -> Bool) throws(Failure) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if try holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
