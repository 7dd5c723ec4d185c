internal import Bytes
internal import LMDB
package import Models
internal import Sorting

/// Finished records one after the other in memory, in the order in which they are written.
package struct RecordBatch {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []
    private(set) var keys: UniqueKeys?

    package init() {}

    package var count: Int { ends.count }
    package var byteCount: Int { bytes.count }

    /// Adds what a builder has put together.
    package mutating func append(_ builder: inout RecordBuilder) {
        builder.finish(into: &bytes)
        ends.append(bytes.count)
    }

    package subscript(index: Int) -> RawSpan {
        @_lifetime(borrow self)
        borrowing get { bytes.span.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index]) }
    }

    /// Makes and sorts the unique keys of the records, which a writer would do otherwise: on any thread, after the last record.
    package mutating func sortKeys(_ number: Int, _ entity: Entity, _ constraint: UniqueConstraint) throws {
        keys = try UniqueKeys(of: self, number, entity, constraint)
    }

    /// The unique keys of the records in order.
    struct UniqueKeys {
        let constraint: UniqueConstraint
        /// The records with keys that are longer than LMDB's may be.
        private(set) var tooLong: [Int] = []
        /// The keys, each followed by its record's index.
        private let sorter = KeySorter(memoryBudget: .max, folder: "")
        private static let indexLength = 4

        init(
            of batch: borrowing RecordBatch, _ number: Int, _ entity: Entity, _ constraint: UniqueConstraint
        ) throws {
            self.constraint = constraint
            for index in 0..<batch.count {
                guard var key = try StoreReader.uniqueKey(number, entity, constraint, batch[index]) else { continue }
                if key.count > Table.maximumKeyLength {
                    tooLong.append(index)
                } else {
                    key.appendBigEndian(UInt32(index))
                    try sorter.append(key)
                }
            }
            try sorter.sort()
        }

        func forEach(_ body: (_ key: RawSpan, _ index: Int) throws -> Void) throws {
            try sorter.forEachSorted { keyAndIndex in
                let end = keyAndIndex.byteCount - Self.indexLength
                let index = keyAndIndex.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self)
                try body(keyAndIndex.extracting(first: end), Int(UInt32(bigEndian: index)))
            }
        }
    }
}
