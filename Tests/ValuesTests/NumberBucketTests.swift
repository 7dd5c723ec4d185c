import Foundation
import Testing

@testable import FetchIndexValues

@Suite struct NumberBucketTests {
    @Test(arguments: [
        (0.1, 0.3, "0.3"), (0.1, 0.7, "0.7"), (0.1, 0.29, "0.2"), (0.1, -0.05, "-0.1"), (2.5, 7.4, "5"), (10, 25, "20"),
        (10, -0.5, "-10"), (0.001, 1e15, "1000000000000000"), (0.5, 0, "0"),
    ]) func aDoubleIsGroupedByItsPrintedDigits(width: Double, number: Double, start: String) {
        #expect(NumberBuckets(width: width).start(of: number).description == start)
    }

    @Test(arguments: [
        (10.0, Int64(25), "20"), (10, -1, "-10"), (0.5, .max, "9223372036854775807"), (2.5, 7, "5"),
        (10, .min, "-9223372036854775808"), (0.1, 3, "3"),
    ]) func bucketsOfIntegersAreExact(width: Double, number: Int64, start: String) {
        #expect(NumberBuckets(width: width).start(of: number).description == start)
    }

    @Test(arguments: [
        (0.05, "19.99", "19.95"), (100, "1234.5", "1200"), (0.1, "1e-100", "0"), (0.1, "-1e-100", "-0.1"),
        (
            1000, "1e120",
            "1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        ),
    ]) func bucketsOfDecimalsAreExact(width: Double, number: String, start: String) throws {
        let decimal = try #require(Decimal(string: number))
        #expect(NumberBuckets(width: width).start(of: decimal).description == start)
    }
}
