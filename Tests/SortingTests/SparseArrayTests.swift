import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@Suite struct SparseArrayTests {
    /// Dense numbers, numbers with gaps, and numbers of other entities, which begin at multiples of 2^48.
    @Test(arguments: 0..<8 as Range<UInt64>) func itAgreesWithADictionary(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        var array = SparseArray()
        var set = SparseSet()
        var model: [UInt64: UInt64] = [:]
        for _ in 0..<3000 {
            let index: UInt64 =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: .random(in: 0..<2000, using: &random)
                case 1: 4096 * .random(in: 0..<100_000, using: &random)
                case 2: 3 << 48 | .random(in: 0..<500, using: &random)
                default: .random(in: 0...UInt64.max, using: &random)
                }
            #expect(array[index] == model[index] ?? 0)
            #expect(set.contains(index) == (model[index] != nil))
            let number = UInt64.random(in: 1...9, using: &random)
            array[index] = number
            #expect(set.insert(index) == (model[index] == nil))
            model[index] = number
        }
        for parts in [1, 2, 3] {
            var listed: [UInt64] = []
            for part in 0..<parts {
                array.forEach(part: part, of: parts) { index, number in
                    #expect(model[index] == number)
                    listed.append(index)
                }
            }
            #expect(listed == model.keys.sorted())
        }
    }
}
