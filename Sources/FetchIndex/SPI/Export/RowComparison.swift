internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords

/// The rows of a catalogue, found by their keys, outside of a store.
///
/// For the comparison of catalogues, which needs no store. Users import a catalogue into a store.
package final class KeyedRows {
    let records: KeyedRecords
    /// The numbers of the appended rows; empty if rows are numbered by their places.
    private let numbers: [UInt64]

    /// The rows will be of the writer's entity, and be found by its key.
    package init(of writer: BatchWriter, numbers: [UInt64] = []) throws {
        guard let constraint = writer.constraint else {
            throw RequestError.malformed("the rows of \(writer.entity.name) have no key")
        }
        records = try withPublicErrors { try KeyedRecords(of: writer.entityNumber, writer.entity, by: constraint) }
        self.numbers = numbers
    }

    /// The number of different keys, after `index`.
    package var count: Int { records.count }

    /// Appends rows. `refused` gets the line of a row whose key is too long, and the error.
    package func append(_ rows: RowBatch, refused: (_ line: Int, StoreError) throws -> Void) throws {
        try withPublicErrors { try records.append(rows.records) { try refused(rows.lines[$0], $1) } }
    }

    /// Finds the rows of all keys. Must be called once, after the last row.
    package func index() throws { try withPublicErrors { try records.index() } }

    fileprivate func number(at place: Int) -> UInt64 {
        numbers.isEmpty ? UInt64(place) + 1 : numbers[records.index(at: place)]
    }

    /// Sorts places by the numbers of their rows.
    fileprivate func sorted(_ places: [UInt32]) -> [UInt32] {
        numbers.isEmpty ? places : places.sorted { number(at: Int($0)) < number(at: Int($1)) }
    }
}

/// The rows in which two catalogues differ.
package struct RowComparison {
    /// The places of a row that changed; nil in a catalogue that lacks the key.
    private struct Difference {
        /// The greatest number means that the catalogue lacks the key.
        private let places: (first: UInt32, second: UInt32)

        init(first: UInt32 = .max, second: UInt32 = .max) { places = (first, second) }

        var first: Int? { places.first == .max ? nil : Int(places.first) }
        var second: Int? { places.second == .max ? nil : Int(places.second) }
        var kind: ChangeKind { first == nil ? .insert : second == nil ? .delete : .update }
    }

    private let first: KeyedRows
    private let second: KeyedRows
    private let writer: BatchWriter
    private let nextNumber: UInt64
    private let threads: Int
    private var differences: [Difference] = []

    /// The number of changes that one thread passes to another at once.
    private static let pieceLength = 512

    /// Compares the rows of two catalogues, both of the writer's entity. New rows are numbered from `nextNumber`; by
    /// default, after the number of rows in the first catalogue. If there are several threads, another one reads changes.
    /// O(n).
    package init(
        _ first: KeyedRows, _ second: KeyedRows, of writer: BatchWriter, nextNumber: UInt64? = nil, threads: Int
    ) throws {
        (self.first, self.second, self.writer, self.threads) = (first, second, writer, threads)
        self.nextNumber = nextNumber ?? UInt64(first.count) + 1
        try withPublicErrors {
            var inserted: [UInt32] = []
            var partners = [UInt32?](repeating: nil, count: first.count)
            for place in 0..<second.count {
                if let partner = try first.records.place(of: second.records, place) {
                    partners[partner] = UInt32(place)
                } else {
                    inserted.append(UInt32(place))
                }
            }
            for place in first.sorted(Array(0..<UInt32(first.count))) {
                guard let partner = partners[Int(place)] else {
                    differences.append(Difference(first: place))
                    continue
                }
                if try first.records.hasSameValues(Int(place), as: second.records, Int(partner)) { continue }
                differences.append(Difference(first: place, second: partner))
            }
            differences += second.sorted(inserted).map { Difference(second: $0) }
        }
    }

    package var isEmpty: Bool { differences.isEmpty }
    package var isFirstEmpty: Bool { first.count == 0 }
    /// The numbers of rows in both catalogues whose key a later row has.
    package var repeatedCounts: (first: Int, second: Int) {
        (first.records.repeatedCount, second.records.repeatedCount)
    }

    /// Calls the body with the changes of some kinds that lead from the first catalogue to the second one: updated and
    /// deleted rows by number, and then the inserted ones.
    package func forEachChange(
        of kinds: Set<ChangeKind> = [.insert, .delete, .update], _ body: (ObjectChange) throws -> Void
    ) throws {
        try withPublicErrors {
            let threads = differences.count > Self.pieceLength ? threads : 1
            try Threads.pipe(threads, capacity: 4) { (deliver: (consuming [ObjectChange]) throws -> Void) in
                var piece: [ObjectChange] = []
                var next = nextNumber
                for difference in differences {
                    if difference.first == nil { next += 1 }
                    guard kinds.contains(difference.kind) else { continue }
                    piece.append(try change(difference, number: next - 1))
                    if piece.count < Self.pieceLength { continue }
                    try deliver(piece)
                    piece = []
                }
                try deliver(piece)
            } consume: { (piece: consuming [ObjectChange]) in
                for change in piece { try body(change) }
            }
        }
    }

    /// `number` is the number of a new row.
    private func change(_ difference: Difference, number: UInt64) throws -> ObjectChange {
        let entity = writer.entity
        func values(_ place: Int?, _ rows: KeyedRows) throws -> [Value]? {
            guard let place else { return nil }
            let records = rows.records
            return try entity.values(of: records.record(at: place))
        }
        let own = difference.first.map(first.number)
        return ObjectChange(
            objectID: writer.id(of: RecordKey(entity: writer.entityNumber, number: own ?? number)),
            kind: difference.kind, entity: entity, oldValues: try values(difference.first, first),
            newValues: try values(difference.second, second), changedRelationships: [])
    }
}
