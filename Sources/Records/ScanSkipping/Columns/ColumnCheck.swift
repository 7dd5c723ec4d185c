internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

/// Checks the columns of a zone against its records, which must be read by ascending object number.
struct ColumnCheck {
    private(set) var defects: [String] = []
    private let key: ZoneKey
    private let coded: CodedPlaces
    /// The columns in which no defect was found so far.
    private var columns: [(key: TextColumnKey, texts: [[UInt8]], codes: [Int])] = []
    /// The number of records read so far whose places have valid codes.
    private var found = 0

    init(_ key: ZoneKey, _ coded: CodedPlaces, in reader: StoreReader) throws {
        (self.key, self.coded) = (key, coded)
        // Columns of other slots, such as those of removed attributes, aren't used.
        let live = reader.model.entities[key.entity].columnSlots
        for slot in coded.slots where live.contains(slot) {
            let name = TextColumnKey(key, slot: slot)
            do {
                let isFound = try reader.view.get(name.bytes, in: reader.tables.meta) { value in
                    let column = try TextColumn(value, at: name, count: coded.end)
                    columns.append((name, column.copyOfTexts(), column.copyOfCodes()))
                }
                if !isFound { defects.append("\(name.name) is missing") }
            } catch  where error.isDamage { defects.append("\(error)") }
        }
    }

    /// Compares a record with the columns. For each column, reports at most one wrong object.
    mutating func read(_ record: borrowing RecordView, at place: Int) throws {
        guard !columns.isEmpty, coded.isCoded(place) else { return }
        found += 1
        var wrong: [Int] = []
        for (index, column) in columns.enumerated() {
            let code = column.codes[place]
            var isRight = code == TextColumn.null
            if let range = try record.range(of: column.key.slot) {
                let text = code - TextColumn.firstText
                isRight = false
                if column.texts.indices.contains(text) {
                    let wanted = column.texts[text]
                    isRight = record.bytes(range).isEqual(to: wanted.span.bytes)
                }
            }
            if !isRight { wrong.append(index) }
        }
        for index in wrong.reversed() {
            let number = key.numbers.lowerBound + UInt64(place)
            defects.append("\(columns[index].key.name) says that object \(number) has another text")
            columns.remove(at: index)
        }
    }

    /// Checks for codes of missing objects. Must be called after the last record.
    mutating func end() {
        for (key, _, codes) in columns {
            let counted = codes.indices.count { coded.isCoded($0) && codes[$0] != TextColumn.absent }
            if counted != found { defects.append("\(key.name) counts \(counted) objects, but has \(found)") }
        }
    }
}
