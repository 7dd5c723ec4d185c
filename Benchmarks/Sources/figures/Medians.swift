/// Calls the bodies in turn, and returns the median time of each in microseconds. Because of the turns, a slow phase of
/// the machine usually affects all of them.
func medians(rounds: Int, _ bodies: [() throws -> Void]) throws -> [Double] {
    var times = Array(repeating: [Double](), count: bodies.count)
    for _ in 0..<rounds {
        for (number, body) in bodies.enumerated() {
            times[number].append(try ContinuousClock().measure { try body() } / .microseconds(1))
        }
    }
    return times.map { $0.sorted()[rounds / 2] }
}
