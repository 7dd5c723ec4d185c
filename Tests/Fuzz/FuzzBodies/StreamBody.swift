import FetchIndexModels
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexValues

/// Bytes that a PostgreSQL server sends: messages of the stream, or rows of a copy. The rows become records of an
/// entity, and all values of the records are read again.
///
///     what 1 | (length 2 | message)...      what: messages of the stream if even, rows of a copy if odd
enum StreamBody {
    private static let table = FollowedSource.Table(
        schema: "public", name: "t", number: 1, file: 1, entity: "T", key: ["k"],
        columns: ["k", "i", "d", "m", "b", "u", "r"].map { FollowedSource.Column(name: $0, number: 0, type: 0) },
        followsNewColumns: false)
    private static let model = Model(entities: [
        Entity(
            "T",
            [
                AttributeDescription("k", .string, isOptional: false, isUnique: true),
                AttributeDescription("i", .integer),
                AttributeDescription("d", .date), AttributeDescription("m", .decimal),
                AttributeDescription("b", .boolean),
                AttributeDescription("u", .uuid), AttributeDescription("r", .data),
            ])
    ])

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let isCopy = reader.byte() % 2 == 1
        var rows = try? RowReader(table, table.columns.map(\.name), in: model)
        precondition(rows != nil, "the row reader refuses the columns of its own table")
        var copied = CopiedRow()
        while !reader.isAtEnd {
            let length = reader.number()
            let message = reader.bytes(length)
            message.withUnsafeBytes { bytes in
                if isCopy {
                    copied.read(bytes)
                    copied.bytes.withUnsafeBytes { use(copied.fields, $0, &rows) }
                } else {
                    read(bytes, &rows)
                }
            }
        }
    }

    private static func read(_ bytes: UnsafeRawBufferPointer, _ rows: inout RowReader?) {
        guard let message = try? StreamMessage(bytes.bytes) else { return }
        switch message {
        case .table(let table): rows = (try? RowReader(Self.table, table.columns.map(\.name), in: model)) ?? rows
        case .insert(_, let row): use(row, bytes, &rows)
        case .update(_, let old, let row):
            if let old { use(old, bytes, &rows) }
            use(row, bytes, &rows)
        case .delete(_, let row): use(row, bytes, &rows)
        case .begin, .commit, .truncate, .other: break
        }
    }

    private static func use(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ rows: inout RowReader?) {
        for case .text(let range) in row {
            precondition(range.upperBound <= bytes.count, "a value is beyond its message")
        }
        guard var reader = rows, (try? reader.requireWidth(row)) != nil else { return }
        _ = try? reader.key(row, bytes)
        if let record = try? reader.record(row, bytes) {
            let values = try? reader.entity.values(of: record.span.bytes)
            precondition(values != nil, "a record cannot be read")
        }
        rows = reader
    }
}
