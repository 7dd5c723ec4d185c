internal import Foundation

/// The seeds and sizes of the tests: small ones, unless the environment gives others, as Scripts/test-long does.
package enum TestSettings {
    /// Mixed into all seeds, so that each round of the long tests has its own. FETCHINDEX_TEST_SEED
    package static let seed = UInt64(number("SEED") ?? 0)
    /// Rows of the exhaustive small cases.
    package static let rows = number("ROWS") ?? 4
    /// Batches of each live scenario.
    package static let batches = number("BATCHES") ?? 2_000
    /// Killed processes of each kind of test; nil: as many as the test kills by default.
    package static let kills = number("KILLS")
    /// Crash points of each trace of writes.
    package static let crashes = number("CRASHES") ?? 200
    /// The seconds that tests with several processes run; nil for each test's default.
    package static let seconds = number("SECONDS").map(Double.init)
    /// Damaged copies of each kind.
    package static let damages = number("DAMAGES") ?? 1
    /// Flipped bytes; nil: as many as the test flips by default. "all" is all of them.
    package static let flips = text("FLIPS").map { Int($0) ?? .max }
    /// The Python with PyICU that the oracle tests ask; nil: they are left out.
    package static let oracle = text("ORACLE")
    /// Whether time does not matter.
    package static let isLong = (kills ?? 0) > 100

    private static func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

    private static func text(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["FETCHINDEX_TEST_" + name]
    }
}
