internal import OrderCaches
internal import Administration
internal import FetchIndex
internal import Wording

// The JSON of the tool.

struct OutcomeReport: Encodable {
    let kind: String
    @NullWhenMissing private(set) var reason: String?
    let milliseconds: Double

    init(_ outcome: FetchOutcome, _ duration: Duration) {
        switch outcome {
        case .hit: self.init("hit", duration)
        case .caughtUp: self.init("caughtUp", duration)
        case .rebuilt(let why): self.init("rebuilt", duration, why)
        case .computed: self.init("computed", duration)
        }
    }

    init(_ outcome: OrderOutcome, _ duration: Duration) {
        switch outcome {
        case .hit: self.init("hit", duration)
        case .caughtUp: self.init("caughtUp", duration)
        case .rebuilt(let why): self.init("rebuilt", duration, why)
        case .computed: self.init("computed", duration)
        }
    }

    private init(_ kind: String, _ duration: Duration, _ why: RebuildReason? = nil) {
        self.kind = kind
        milliseconds = (duration / .microseconds(1)).rounded() / 1000
        reason = why?.rawValue
    }

    /// rebuilt (first), in 12.3 ms
    var sentence: String {
        "\(kind)\(reason.map { " (\($0))" } ?? ""), in \(Numbers.duration(milliseconds: milliseconds))"
    }
}

struct SectionReport: Encodable {
    /// Nil for the section of the rows without a value.
    @NullWhenMissing private(set) var name: String?
    let indexTitle: String
    let count: Int

    init(_ section: FetchedSection, _ key: SectionKey?) {
        name = section.isNull ? nil : section.name
        indexTitle = SectionKey.indexTitle(ofSectionNamed: section.name, key) ?? ""
        count = section.count
    }

    /// As tables show it: a section without a value, and that of an empty text, are told apart.
    static func shownName(_ name: String?) -> String {
        guard let name else { return "(no value)" }
        return name.isEmpty ? "\"\"" : name
    }
}

struct ChangeReport: Encodable {
    struct SectionEvent: Encodable {
        let kind: String
        var from: Int?
        var to: Int?
        /// Nil for the section of the rows without a value.
        @NullWhenMissing private(set) var name: String?
    }

    struct RowEvent: Encodable {
        let kind: String
        let id: UInt64
        /// The object's first unique value; left out when the entity has none, and where it is not known any more.
        var key: JSONValue?
        /// All values of a deleted row's object that is gone.
        var old: [String: JSONValue]?
        /// The object's entity, where it is a subentity of the one that was asked for.
        var entity: String?
        var from: [Int]?
        var to: [Int]?

        init(
            _ kind: String, _ id: ObjectID, _ names: [ObjectID: ObjectName], of asked: String, from: RowPath? = nil,
            to: RowPath? = nil
        ) {
            self.kind = kind
            self.id = id.number
            key = names[id]?.key.map(JSONValue.init)
            old = kind == "delete" ? names[id]?.oldValues?.mapValues(JSONValue.init) : nil
            entity = id.entityName == asked ? nil : id.entityName
            self.from = from.map { [$0.section, $0.row] }
            self.to = to.map { [$0.section, $0.row] }
        }
    }

    let outcome: OutcomeReport
    /// Without lists when the change is not known: then the order must be fetched again.
    let sections: [SectionEvent]?
    let rows: [RowEvent]?

    /// What a batch of a live order says.
    init(_ change: ResultsChange, of entity: String, _ duration: Duration) {
        if let reason = change.rebuilt {
            self.init(.rebuilt(reason), of: entity, duration, naming: { _ in [:] })
        } else {
            self.init(change.isEmpty ? .hit : .caughtUp(change), of: entity, duration, naming: { _ in [:] })
        }
    }

    /// What opening an order, or bringing it to a commit, changed.
    init(
        _ outcome: FetchOutcome, of entity: String, _ duration: Duration,
        naming name: ([ObjectID]) throws -> [ObjectID: ObjectName]
    ) rethrows {
        self.outcome = OutcomeReport(outcome, duration)
        let change: ResultsChange
        switch outcome {
        case .hit: change = ResultsChange()
        case .caughtUp(let caughtUp): change = caughtUp
        case .rebuilt, .computed:
            sections = nil
            rows = nil
            return
        }
        sections = change.sections.enumerated().map { index, event in
            func name(_ name: String) -> String? { change.eventsOfNull.contains(index) ? nil : name }
            return switch event {
            case .delete(let from, let old): SectionEvent(kind: "delete", from: from, name: name(old))
            case .insert(let to, let new): SectionEvent(kind: "insert", to: to, name: name(new))
            case .move(let from, let to, let moved): SectionEvent(kind: "move", from: from, to: to, name: name(moved))
            case .update(let from, let to, let new): SectionEvent(kind: "update", from: from, to: to, name: name(new))
            }
        }
        let names = try name(change.rows.map(\.id))
        rows = change.rows.map { event in
            switch event {
            case .delete(let id, let from): RowEvent("delete", id, names, of: entity, from: from)
            case .insert(let id, let to): RowEvent("insert", id, names, of: entity, to: to)
            case .move(let id, let from, let to): RowEvent("move", id, names, of: entity, from: from, to: to)
            case .update(let id, let from, let to): RowEvent("update", id, names, of: entity, from: from, to: to)
            }
        }
    }

    /// A change batch as lines for people.
    var lines: [String] {
        guard let sections, let rows else { return ["\(outcome.sentence); what changed is not known: fetch again"] }
        if sections.isEmpty && rows.isEmpty { return ["no changes"] }
        func place(_ path: [Int]?) -> String { path.map { "\($0[0]):\($0[1])" } ?? "" }
        func steps(_ from: String, _ to: String) -> String {
            from.isEmpty ? "at \(to)" : to.isEmpty ? "from \(from)" : "\(from) → \(to)"
        }
        return sections.map { event in
            let places = steps(event.from.map(String.init) ?? "", event.to.map(String.init) ?? "")
            return "section \(event.kind) \(places)  \(SectionReport.shownName(event.name).visible)"
        }
            + rows.map { row in
                let entity = row.entity.map { " \($0.visible)" } ?? ""
                let key = row.key.map { "  \($0.text.visible)" } ?? ""
                return "row \(row.kind) \(steps(place(row.from), place(row.to))) \(entity) #\(row.id)\(key)"
            }
    }
}

/// A value as JSON: null, booleans, integers and doubles as such, others as texts.
struct JSONValue: Encodable {
    private let value: Value

    init(_ value: Value) { self.value = value }

    /// As tables show it.
    var text: String { value.description }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch value {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value) where value.isFinite: try container.encode(value)
        default: try container.encode(value.description)
        }
    }
}
