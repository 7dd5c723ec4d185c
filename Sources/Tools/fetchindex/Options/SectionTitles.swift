internal import FetchIndex
internal import FetchIndexModels

/// Section names as the tool prints them: those of booleans are false and true, as booleans are everywhere else.
struct SectionTitles {
    private static let booleans = ["0": "false", "1": "true"]

    private let areBooleans: Bool
    private let key: SectionKey?

    init(_ key: SectionKey?, _ order: FetchedOrder) {
        self.init(key, areBooleans: Self.attribute(of: key).map(order.isBoolean) ?? false)
    }

    init(_ key: SectionKey?, of entity: String, in model: Model) {
        let type = Self.attribute(of: key).flatMap { name in
            try? FetchedColumn(name, of: [model.number(of: entity)], in: model).type
        }
        self.init(key, areBooleans: type == .boolean)
    }

    private init(_ key: SectionKey?, areBooleans: Bool) { (self.key, self.areBooleans) = (key, areBooleans) }

    /// The attribute whose values are the names, if any.
    private static func attribute(of key: SectionKey?) -> String? {
        switch key {
        case .attribute, .relationship: key?.attribute
        default: nil
        }
    }

    func title(_ name: String) -> String { areBooleans ? Self.booleans[name] ?? name : name }

    /// Nil for the section of the rows without a value.
    func title(of section: FetchedSection) -> String? { section.isNull ? nil : title(section.name) }

    func indexTitle(of section: FetchedSection) -> String {
        SectionKey.indexTitle(ofSectionNamed: title(section.name), key) ?? ""
    }
}

/// The names of sections by their indexes before and after a change.
final class ChangedSections {
    private let titles: SectionTitles
    private let order: FetchedOrder
    /// Of sections that are gone, by their old index; nil for that of the rows without a value.
    private var gone: [Int: String?] = [:]
    /// The new index of sections that moved, by the old one.
    private var moved: [Int: Int] = [:]
    /// Old indexes of sections that are gone or moved, new ones of those that are new or moved: in ascending order.
    private var left: [Int] = []
    private var came: [Int] = []
    private var names: [Int: String?] = [:]

    /// `order` is the order after the change.
    init(_ change: ResultsChange, _ order: FetchedOrder, _ titles: SectionTitles) {
        (self.order, self.titles) = (order, titles)
        for (index, event) in change.sections.enumerated() {
            switch event {
            case .delete(let from, let name):
                gone.updateValue(change.eventsOfNull.contains(index) ? nil : titles.title(name), forKey: from)
                left.append(from)
            case .insert(let to, _): came.append(to)
            case .move(let from, let to, _):
                moved[from] = to
                left.append(from)
                came.append(to)
            case .update: break
            }
        }
        left.sort()
        came.sort()
    }

    /// The name of a section after the change; nil for that of the rows without a value. O(log n).
    func name(ofNew index: Int) throws -> String? {
        if let known = names[index] { return known }
        let name = titles.title(of: try order.section(at: index))
        names.updateValue(name, forKey: index)
        return name
    }

    /// The same before it. A section of an object that was renamed has its new name.
    func name(ofOld index: Int) throws -> String? {
        if let name = gone[index] { return name }
        if let new = moved[index] { return try name(ofNew: new) }
        // The sections that stay keep their order.
        var new = index - left.count { $0 < index }
        for arrival in came where arrival <= new { new += 1 }
        return try name(ofNew: new)
    }
}

extension Value {
    /// As the tool prints it to people.
    var shownText: String {
        if case .boolean(let value) = self { value ? "true" : "false" } else { description }
    }
}
