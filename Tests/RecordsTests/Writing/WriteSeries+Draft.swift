import FetchIndexModels
import FetchIndexRecords
import FetchIndexValues

extension WriteSeries {
    /// A part. Its code is unique, and so is its place, which is a row and a column together.
    struct Part: Hashable {
        var code: String?
        var row: Int64?
        var column: Int64?
        var price: Int64

        static let entity = Entity(
            "Part",
            [
                AttributeDescription("code", .string, isUnique: true), AttributeDescription("row", .integer),
                AttributeDescription("column", .integer), AttributeDescription("price", .integer),
            ], unique: [["row", "column"]])

        func record() throws -> [UInt8] {
            try Part.entity.record([
                code.map(Value.string) ?? .null, row.map(Value.integer) ?? .null, column.map(Value.integer) ?? .null,
                .integer(price),
            ])
        }

        func hasKey(of other: Part) -> Bool {
            code != nil && code == other.code
                || row != nil && column != nil && row == other.row && column == other.column
        }
    }

    /// The contents that a transaction must give the store.
    struct Draft {
        var parts: [UInt64: Part] = [:]
        var next: UInt64 = 1
        /// Objects with at least this number are new in the current commit.
        var firstNew: UInt64 = 1
        /// The changes of the current commit: `inserted` for each new object, and the first change of each older
        /// object.
        var kinds: [UInt64: LogEntryKind] = [:]

        func isTaken(_ part: Part, except number: UInt64? = nil) -> Bool {
            parts.contains { $0.key != number && $0.value.hasKey(of: part) }
        }

        mutating func insert(_ part: Part, as number: UInt64? = nil) -> UInt64 {
            let own = number ?? next
            parts[own] = part
            kinds[own] = .inserted
            next = own + 1
            return own
        }

        mutating func change(_ number: UInt64, to part: Part?) {
            parts[number] = part
            if number < firstNew, kinds[number] == nil { kinds[number] = part == nil ? .deleted : .updated }
        }

        mutating func beginCommit() {
            kinds = [:]
            firstNew = next
        }
    }
}
