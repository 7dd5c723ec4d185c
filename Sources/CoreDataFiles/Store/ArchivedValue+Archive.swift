internal import FetchIndexEssentials
internal import FetchIndexValues

// Values that Foundation's keyed archives contain, as JSON.
extension ArchivedValue {
    /// The text of a value that is JSON or a keyed archive of texts, numbers, dates, data, addresses, lists, sets and
    /// dictionaries; nil for others. Dates and data are texts, as the tool prints them. Sets are sorted.
    static func text(of bytes: [UInt8]) -> String? {
        guard bytes.starts(with: "bplist0".utf8) else {
            return JSONSorter.sorted(bytes).map { String(decoding: $0, as: UTF8.self) }
        }
        var left = mostValues
        return (try? KeyedArchive(bytes).rootValue()).flatMap { ArchivedValue($0, level: 0, &left) }?.text
    }

    /// References may be shared, so a small archive could have many values, or a value within itself.
    private static let (mostLevels, mostValues) = (32, 100_000)

    private var text: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }

    private init?(_ value: KeyedArchive.Value, level: Int, _ left: inout Int) {
        left -= 1
        guard level < Self.mostLevels, left >= 0 else { return nil }
        switch value {
        case .null: self = .null
        case .text(let text): self = .text(text)
        case .integer(let number): self = .integer(number)
        case .real(let number): self = .number(number)
        case .flag(let flag): self = .boolean(flag)
        case .bytes(let bytes): self = .text("\(Value.data(Data(bytes)))")
        case .object(let object): self.init(object, level: level, &left)
        }
    }

    private init?(_ object: KeyedArchive.Object, level: Int, _ left: inout Int) {
        switch object.className {
        case "NSNull": self = .null
        case "NSString", "NSMutableString":
            guard let text = object.text("NS.string") else { return nil }
            self = .text(text)
        case "NSDate":
            switch object["NS.time"] {
            case .real(let seconds): self = .text("\(Value.date(Date(timeIntervalSinceReferenceDate: seconds)))")
            case .integer(let seconds):
                self = .text("\(Value.date(Date(timeIntervalSinceReferenceDate: Double(seconds))))")
            default: return nil
            }
        case "NSData", "NSMutableData":
            guard case .bytes(let bytes) = object["NS.data"] else { return nil }
            self = .text("\(Value.data(Data(bytes)))")
        case "NSUUID":
            guard case .bytes(let bytes) = object["NS.uuidbytes"], bytes.count == 16 else { return nil }
            self = .text(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString)
        case "NSURL":
            guard let address = object.text("NS.relative") else { return nil }
            self = .text(address)
        case "NSArray", "NSMutableArray", "NSOrderedSet", "NSMutableOrderedSet":
            guard let list = Self.list(object.elements, level: level, &left) else { return nil }
            self = .list(list)
        case "NSSet", "NSMutableSet":
            guard let list = Self.list(object.elements, level: level, &left) else { return nil }
            self = .list(list.sorted { ($0.text ?? "") < ($1.text ?? "") })
        case "NSDictionary", "NSMutableDictionary":
            let (keys, values) = (object.dictionaryKeys, object.elements)
            guard keys.count == values.count, let list = Self.list(values, level: level, &left) else { return nil }
            var members: [String: ArchivedValue] = [:]
            for (key, value) in zip(keys, list) {
                guard case .text(let name) = key else { return nil }
                members[name] = value
            }
            self = .object(members)
        default: return nil
        }
    }

    private static func list(_ values: [KeyedArchive.Value], level: Int, _ left: inout Int) -> [ArchivedValue]? {
        var list: [ArchivedValue] = []
        for value in values {
            guard let element = ArchivedValue(value, level: level + 1, &left) else { return nil }
            list.append(element)
        }
        return list
    }
}
