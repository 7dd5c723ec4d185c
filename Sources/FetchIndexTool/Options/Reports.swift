internal import FetchIndex

// The JSON of the tool.

struct OutcomeReport: Encodable {
    let kind: String
    let reason: String?
    let milliseconds: Double

    init(_ outcome: OrderOutcome, _ duration: Duration) {
        milliseconds = (duration / .microseconds(1)).rounded() / 1000
        switch outcome {
        case .hit: (kind, reason) = ("hit", nil)
        case .caughtUp: (kind, reason) = ("caughtUp", nil)
        case .rebuilt(let why): (kind, reason) = ("rebuilt", why.rawValue)
        case .computed: (kind, reason) = ("computed", nil)
        }
    }

    private enum CodingKeys: String, CodingKey {
        case kind, reason, milliseconds
    }

    /// The reason is always there, null where there is none.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(reason, forKey: .reason)
        try container.encode(milliseconds, forKey: .milliseconds)
    }

    /// rebuilt (first), in 12.3 ms
    var sentence: String {
        "\(kind)\(reason.map { " (\($0))" } ?? ""), in \(Numbers.duration(milliseconds: milliseconds))"
    }
}

struct SectionReport: Encodable {
    let name: String
    let indexTitle: String
    let count: Int

    init(_ section: OrderSection, _ key: SectionKey?) {
        name = section.name
        indexTitle = SectionKey.indexTitle(ofSectionNamed: section.name, key) ?? ""
        count = section.count
    }
}

/// A value in JSON: numbers and booleans as such, null as null, all else as text.
enum JSONValue: Encodable {
    case value(Value)

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        guard case .value(let value) = self else { return }
        switch value {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let number) where number.isFinite: try container.encode(number)
        case .decimal(let value): try container.encode(value)
        default: try container.encode(value.description)
        }
    }
}

struct RowReport: Encodable {
    let id: UInt64
    let section: Int
    let row: Int
    let values: [String: JSONValue]
}

struct ChangeReport: Encodable {
    struct SectionEvent: Encodable {
        let kind: String
        var from: Int?
        var to: Int?
        let name: String
    }

    struct RowEvent: Encodable {
        let kind: String
        let id: UInt64
        var from: [Int]?
        var to: [Int]?
    }

    var outcome: OutcomeReport?
    let sections: [SectionEvent]
    let rows: [RowEvent]

    init(_ change: OrderChange, outcome: OutcomeReport? = nil) {
        self.outcome = outcome
        sections = change.sections.map { event in
            switch event {
            case .delete(let from, let name): SectionEvent(kind: "delete", from: from, name: name)
            case .insert(let to, let name): SectionEvent(kind: "insert", to: to, name: name)
            case .move(let from, let to, let name): SectionEvent(kind: "move", from: from, to: to, name: name)
            }
        }
        func path(_ path: RowPath) -> [Int] { [path.section, path.row] }
        rows = change.rows.map { event in
            switch event {
            case .delete(let object, let from): RowEvent(kind: "delete", id: object.number, from: path(from))
            case .insert(let object, let to): RowEvent(kind: "insert", id: object.number, to: path(to))
            case .move(let object, let from, let to):
                RowEvent(kind: "move", id: object.number, from: path(from), to: path(to))
            case .update(let object, let from, let to):
                RowEvent(kind: "update", id: object.number, from: path(from), to: path(to))
            }
        }
    }

    /// A change batch as lines for people.
    var lines: [String] {
        if sections.isEmpty && rows.isEmpty { return ["no changes"] }
        func place(_ path: [Int]?) -> String { path.map { "\($0[0]):\($0[1])" } ?? "" }
        func steps(_ from: String, _ to: String) -> String {
            from.isEmpty ? "at \(to)" : to.isEmpty ? "from \(from)" : "\(from) → \(to)"
        }
        return sections.map { event in
            let places = steps(event.from.map(String.init) ?? "", event.to.map(String.init) ?? "")
            return "section \(event.kind) \(places)  \(event.name.isEmpty ? "(no value)" : event.name.visible)"
        }
            + rows.map { "row \($0.kind) \(steps(place($0.from), place($0.to)))  #\($0.id)" }
    }
}
