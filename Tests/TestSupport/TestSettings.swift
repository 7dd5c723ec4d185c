internal import Foundation

/// The seeds and sizes of the tests. They are small unless environment variables set them, like in Scripts/test-long.
package enum TestSettings {
    /// A number that is mixed into all seeds, so that each round of the long tests has its own. FETCHINDEX_TEST_SEED
    package static let seed = UInt64(number("SEED") ?? 0)
    /// The number of rows in the exhaustive small cases.
    package static let rows = number("ROWS") ?? 3
    /// The least number of batches that `ScenarioTests` checks with eight seeds. With four seeds, it is half of that.
    package static let batches = number("BATCHES") ?? 1_000
    /// Determines how often tests kill a process; nil for each test's default.
    package static let kills = number("KILLS")
    /// The number of power losses that a test simulates in each trace of writes. One test simulates half as many.
    package static let crashes = number("CRASHES") ?? 200
    /// The duration of tests with several processes; nil for the test's default.
    package static let seconds = number("SECONDS").map(Double.init)
    /// The number of damaged copies of each kind.
    package static let damages = number("DAMAGES") ?? 1
    /// The number of bytes or offsets that a test flips in each table or group of values, or `Int.max` for "all"; nil
    /// for the test's default.
    package static let flips = text("FLIPS").map { Int($0) ?? .max }
    /// The Python with PyICU that the oracle tests run; nil disables these tests.
    package static let oracle = text("ORACLE")
    /// Whether the tests may take long: if more than 100 kills are set.
    package static let isLong = (kills ?? 0) > 100

    private static func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

    private static func text(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["FETCHINDEX_TEST_" + name]
    }
}
