import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexLMDB

/// The address space that maps reserve.
@Suite struct ReservationTests {
    /// The least address space of a process on supported machines: 47 bits.
    private static let addresses = 1 << 47

    @Test func theMapsOfThousandsOfSmallFilesFitIntoAProcess() {
        let sizes = (0..<4000).map { Environment.reservation(fileBytes: 100_000, beside: $0) }
        #expect(sizes.reduce(0, +) < Self.addresses / 4 * 3)
        // The first eight maps have the greatest size, 1 TiB.
        #expect(sizes[..<8].allSatisfy { $0 == 1 << 40 })
        #expect(sizes == sizes.sorted(by: >) && sizes.allSatisfy { $0 >= 1 << 34 })
    }

    @Test func errorsDistinguishAddressSpaceFromDescriptors() {
        #expect(LMDBError(rawValue: ENOMEM).description.contains("(ulimit -v)"))
        #expect(LMDBError(rawValue: EMFILE).description.contains("(ulimit -n)"))
    }

    @Test func theReservedMapIsAtLeastTwiceTheFile() {
        for others in [0, 10, 1000, 100_000] {
            for bits in 0..<46 {
                let bytes = 1 << bits
                let size = Environment.reservation(fileBytes: bytes, beside: others)
                #expect(size >= 2 * bytes && size % 4096 == 0, "\(others) \(bits)")
                #expect(size >= min(8 * bytes, 1 << 40), "\(others) \(bits)")
            }
        }
        for bytes in [-1, 0, .max] { #expect(Environment.reservation(fileBytes: bytes, beside: .max / 2) > 0) }
    }
}
