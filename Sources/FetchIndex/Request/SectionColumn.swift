/// Computes the section value of a record.
final class SectionColumn {
    private let key: SectionKey
    private let slot: Int
    private let type: ValueType
    private let zone: TimeZoneOffsets?
    private var compute: ComputedSection.Reader?
    /// The day last named: rows of a day often come together.
    private var lastDay: CalendarDay?
    private var lastName: [UInt8] = []

    init(_ key: SectionKey, _ entity: Entity) throws {
        self.key = key
        slot = try key.attribute.map { try entity.requireSlot(of: $0) } ?? 0
        type = entity.attributes[slot].type
        switch key {
        case .attribute: zone = nil
        case .function(let section):
            zone = nil
            guard section.entityName == nil || section.entityName == entity.name else {
                throw RequestError.wrongType(
                    "the computed section key \(section.name) is of \(section.entityName ?? ""), not of \(entity.name)")
            }
            compute = section.reader(of: entity)
        case .prefix(_, let length):
            zone = nil
            try Self.require(type == .string, "a text", key, entity, type)
            guard SectionKey.prefixLengths.contains(length) else {
                throw RequestError.malformed("a prefix has 1 to 1,000 letters, not \(length)")
            }
        case .date(_, _, let timeZone):
            try Self.require(type == .date, "a date", key, entity, type)
            zone = try TimeZoneOffsets(timeZone)
        case .bucket(_, let width):
            zone = nil
            guard SectionKey.bucketWidths.contains(width) else {
                throw RequestError.malformed("a bucket's width is from 1e-9 to 1e15, not \(width)")
            }
            try Self.require(type == .integer || type == .double, "an integer or a double", key, entity, type)
        }
    }

    private static func require(
        _ isRight: Bool, _ wanted: String, _ key: SectionKey, _ entity: Entity, _ type: ValueType
    ) throws {
        if isRight { return }
        throw RequestError.wrongType(
            "the section key \(key) needs \(wanted), and \(entity.name).\(key.attribute ?? "") is a \(type.name)")
    }

    /// The version of the time zone data, for zones that depend on it.
    var versions: [String] { zone.flatMap { $0.dataVersion.isEmpty ? nil : ["zones \($0.dataVersion)"] } ?? [] }

    /// Appends the section value as an ascending OrderKey.
    func append(_ record: RecordView, to bytes: inout [UInt8]) throws {
        if let compute {
            let name = Array(compute(record.copy()).utf8)
            OrderKey.appendBytes(name.span.bytes, as: .string, to: &bytes)
            return
        }
        guard let range = try record.range(of: slot) else {
            OrderKey.appendNull(to: &bytes)
            return
        }
        switch key {
        case .function: break
        case .attribute: try record.appendOrderKey(of: slot, as: type, to: &bytes)
        case .prefix(_, let length):
            let prefix = Self.prefixLength(length, of: record.bytes(range))
            OrderKey.appendBytes(record.bytes(range.lowerBound..<range.lowerBound + prefix), as: .string, to: &bytes)
        case .date(_, let unit, _):
            appendName(of: unit, try record.double(range), to: &bytes)
        case .bucket(_, let width):
            try appendBucket(width, range, of: record, to: &bytes)
        }
    }

    /// How many bytes the first letters of UTF-8 text take. ASCII letters take one each, unless a mark follows.
    private static func prefixLength(_ letters: Int, of text: RawSpan) -> Int {
        text.withUnsafeBytes { text in
            let start = text.prefix(letters + 1)
            if start.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) { return min(letters, text.count) }
            return min(String(decoding: text, as: UTF8.self).prefix(letters).utf8.count, text.count)
        }
    }

    private func appendName(of unit: CalendarUnit, _ moment: Double, to bytes: inout [UInt8]) {
        guard let day = zone?.day(of: moment) else { return }
        if day != lastDay {
            lastDay = day
            lastName = Array(unit.name(of: day).utf8)
        }
        let name = lastName
        OrderKey.appendBytes(name.span.bytes, as: .string, to: &bytes)
    }

    /// Where the interval begins: an integer for integers and a whole width, else a double.
    private func appendBucket(_ width: Double, _ range: Range<Int>, of record: RecordView, to bytes: inout [UInt8])
        throws
    {
        if type == .integer, let whole = Int64(exactly: width) {
            let number = try record.integer(range)
            let remainder = number % whole
            let start = number.subtractingReportingOverflow(remainder < 0 ? remainder + whole : remainder)
            // Below the least integer there is no multiple: its interval begins with it.
            OrderKey.appendInteger(start.overflow ? .min : start.partialValue, to: &bytes)
            return
        }
        let number = type == .integer ? Double(try record.integer(range)) : try record.double(range)
        OrderKey.appendDouble((number / width).rounded(.down) * width, as: .double, to: &bytes)
    }
}
