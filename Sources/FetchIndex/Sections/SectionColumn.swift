internal import FetchIndexRecords
internal import FetchIndexModels
/// Computes a record's section value.
final class SectionColumn {
    /// The way in which the section value is computed.
    private enum Reader {
        case attribute
        case function(ComputedSection.Reader)
        case prefix(Int)
        case date(DateSections)
        case bucket(NumberBuckets)
        case indexTitle(IndexTitles)
    }

    /// The slot of the attribute, or the slot of a key path in the `PathTable`.
    let slot: Int
    let keys = PathKeys()
    private let type: ValueType
    private let reader: Reader
    /// The slots of the entity's records on which section values depend, besides those that the `PathTable` has noted:
    /// all attributes if the key is a function, otherwise none.
    let reads: Set<Int>

    /// `requested` is the name of the entity in the request: the name of `entity`, or of one of its superentities.
    init(_ key: SectionKey, _ entity: Entity, of requested: String, _ table: PathTable) throws {
        if case .relationship(let path, _) = key {
            (slot, type) = (try table.requireReference(path, for: "the section key \(key)"), .integer)
        } else {
            (slot, type) =
                try key.attribute.map { try table.requireSlot(of: $0, for: "the section key") }
                ?? (0, entity.attribute(at: 0).type)
        }
        reads = key.attribute == nil ? Set(entity.attributeSlots) : []
        reader = try Self.reader(key, entity, type, requested)
    }

    private static func reader(
        _ key: SectionKey, _ entity: Entity, _ type: ValueType, _ requested: String
    ) throws -> Reader {
        switch key {
        case .attribute, .relationship: return .attribute
        case .function(let section):
            guard section.entityName == nil || section.entityName == requested else {
                throw RequestError.wrongType(
                    "the computed section key \(section.name) takes objects of \(section.entityName ?? ""), not of \(requested)"
                )
            }
            return .function(section.reader(of: entity))
        case .prefix(_, let length):
            try require(type == .string, "a text", key, entity, type)
            guard SectionKey.prefixLengths.contains(length) else {
                throw RequestError.malformed("a prefix has 1 to 1,000 letters, not \(length)")
            }
            return .prefix(length)
        case .date(_, let unit, let timeZone, let calendar):
            try require(type == .date, "a date", key, entity, type)
            return .date(try DateSections(unit, timeZone: timeZone, calendar))
        case .bucket(_, let width):
            guard SectionKey.bucketWidths.contains(width) else {
                throw RequestError.malformed("a bucket's width is from 1e-9 to 1e15, not \(width)")
            }
            try require(type == .integer || type == .double || type == .decimal, "a number", key, entity, type)
            return .bucket(NumberBuckets(width: width))
        case .indexTitle(_, let locale):
            try require(type == .string, "a text", key, entity, type)
            return .indexTitle(try IndexTitles(locale))
        }
    }

    /// Whether section values are numbers or booleans.
    var isOfNumbers: Bool {
        switch reader {
        case .attribute: type.isNumber
        case .bucket: true
        case .function, .prefix, .date, .indexTitle: false
        }
    }

    private static func require(
        _ isRight: Bool, _ wanted: String, _ key: SectionKey, _ entity: Entity, _ type: ValueType
    ) throws {
        if isRight { return }
        throw RequestError.wrongType(
            "the section key \(key) needs \(wanted), but \(entity.name).\(key.attribute ?? "") is \(type.nameWithArticle)"
        )
    }

    /// The versions of time zone, calendar and index data on which section values depend.
    var versions: [String] {
        switch reader {
        case .date(let sections): sections.versions
        case .indexTitle(let titles): titles.versions
        case .attribute, .function, .prefix, .bucket: []
        }
    }

    /// Appends a record's section value as an ascending OrderKey.
    func append(_ record: RecordView, to bytes: inout [UInt8]) throws {
        try append(record, slot: slot, to: &bytes)
    }

    /// Appends the section value for a record in which the attribute has the given slot, such as the record at the end
    /// of a key path.
    func append(_ record: RecordView, slot: Int, to bytes: inout [UInt8]) throws {
        if case .function(let compute) = reader {
            Self.append(Array(compute(record.copy()).utf8), to: &bytes)
            return
        }
        guard let range = try record.range(of: slot) else {
            OrderKey.appendNull(to: &bytes)
            return
        }
        switch reader {
        case .function: break
        case .attribute: try record.appendOrderKey(of: slot, as: type, to: &bytes)
        case .prefix(let length):
            let prefix = Self.prefixLength(length, of: record.bytes(range))
            OrderKey.appendBytes(record.bytes(range.lowerBound..<range.lowerBound + prefix), as: .string, to: &bytes)
        case .date(let sections): Self.append(try sections.name(of: record.double(range)), to: &bytes)
        case .bucket(let buckets): try appendBucket(buckets, range, slot, of: record, to: &bytes)
        case .indexTitle(let titles): Self.append(try titles.title(of: record.bytes(range)), to: &bytes)
        }
    }

    /// Appends the section value for the related object with the given key; null if `object` is nil.
    func appendObject(_ object: Int64?, to bytes: inout [UInt8]) {
        if let object { OrderKey.appendInteger(object, to: &bytes) } else { OrderKey.appendNull(to: &bytes) }
    }

    private static func append(_ name: [UInt8], to bytes: inout [UInt8]) {
        OrderKey.appendBytes(name.span.bytes, as: .string, to: &bytes)
    }

    /// Returns the length in bytes of the first letters of a UTF-8 text. An ASCII character is a letter of one byte,
    /// unless it begins CR LF or a character that isn't ASCII extends it.
    private static func prefixLength(_ letters: Int, of text: RawSpan) -> Int {
        text.withUnsafeBytes { text in
            let start = text.prefix(letters + 1)
            if start.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) { return min(letters, text.count) }
            return min(String(decoding: text, as: UTF8.self).prefix(letters).utf8.count, text.count)
        }
    }

    /// Appends the start of the interval that contains the value.
    private func appendBucket(
        _ buckets: NumberBuckets, _ range: Range<Int>, _ slot: Int, of record: RecordView, to bytes: inout [UInt8]
    ) throws {
        let start: Value
        switch type {
        case .integer: start = buckets.start(of: try record.integer(range))
        case .double: start = buckets.start(of: try record.double(range))
        default:
            guard case .decimal(let number) = try record.value(at: slot, as: type) else { return }
            start = .decimal(buckets.start(of: number))
        }
        OrderKey.append(start, to: &bytes)
    }
}

extension ValueType {
    /// Whether values of this type are numbers, or booleans, which sort like 0 and 1.
    var isNumber: Bool { [.boolean, .integer, .double, .decimal].contains(self) }
}
