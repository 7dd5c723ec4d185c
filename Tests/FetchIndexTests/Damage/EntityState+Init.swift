@testable import FetchIndexRecords

extension EntityState {
    init(nextObject: UInt64, count: UInt64) {
        self.init()
        self.nextObject = nextObject
        self.count = count
    }
}
