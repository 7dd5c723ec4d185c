internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexTerminal

// Values that several commands print as JSON.

struct OutcomeReport: Encodable {
    let kind: String
    @NullWhenMissing private(set) var reason: String?
    let milliseconds: Double

    init(_ outcome: FetchOutcome, _ duration: Duration) {
        switch outcome {
        case .hit: self.init("hit", duration)
        case .caughtUp, .pending: self.init("caughtUp", duration)
        case .rebuilt(let why): self.init("rebuilt", duration, why)
        case .computed: self.init("computed", duration)
        }
    }

    private init(_ kind: String, _ duration: Duration, _ why: RebuildReason? = nil) {
        self.kind = kind
        milliseconds = (duration / .microseconds(1)).rounded() / 1000
        reason = why?.rawValue
    }

    /// The outcome as text, such as "rebuilt (first), in 12.3 ms".
    var sentence: String {
        "\(kind)\(reason.map { " (\($0))" } ?? ""), in \(Numbers.duration(milliseconds: milliseconds))"
    }
}

struct SectionReport: Encodable {
    /// The section's name; nil for the section of null.
    @NullWhenMissing private(set) var name: String?
    let indexTitle: String
    let count: Int

    init(_ section: FetchedSection, _ titles: SectionTitles) {
        name = titles.title(of: section)
        indexTitle = titles.indexTitle(of: section)
        count = section.count
    }

    /// The name as tables show it: (no value) for the section of null, and "" for the section of the empty text.
    static func shownName(_ name: String?) -> String {
        guard let name else { return "(no value)" }
        return name.isEmpty ? "\"\"" : name
    }
}

/// A value as JSON. Null, booleans, integers and finite doubles are JSON values of these types; all other values are
/// strings.
struct JSONValue: Encodable {
    let value: Value

    init(_ value: Value) { self.value = value }

    /// The value as tables show it.
    var text: String { value.shownText }

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

extension Output {
    /// Prints what a command for all caches prints if the store has none.
    static func noCaches() { line("the store has no caches") }
}
