/// The number of some entries of a tree, and their total weight.
package struct Measure: Equatable, Sendable {
    package var count: Int
    package var weight: Int

    package init(count: Int, weight: Int) {
        self.count = count
        self.weight = weight
    }

    package static let zero = Measure(count: 0, weight: 0)
    /// The upper bound of counts and weights, small enough that sums over a node's slots can't overflow.
    package static let limit: UInt64 = 1 << 40

    static func += (left: inout Measure, right: Measure) {
        left.count += right.count
        left.weight += right.weight
    }

    static func -= (left: inout Measure, right: Measure) {
        left.count -= right.count
        left.weight -= right.weight
    }
}
