internal import FetchIndex
internal import FetchIndexModels

/// Converts section names to their printed form: sections by a boolean are called "false" and "true" instead of "0" and "1".
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

    /// The attribute whose values are the section names, if any.
    private static func attribute(of key: SectionKey?) -> String? {
        switch key {
        case .attribute, .relationship: key?.attribute
        default: nil
        }
    }

    func title(_ name: String) -> String { areBooleans ? Self.booleans[name] ?? name : name }

    /// Returns nil for the section of null.
    func title(of section: FetchedSection) -> String? { section.isNull ? nil : title(section.name) }

    func indexTitle(of section: FetchedSection) -> String {
        SectionKey.indexTitle(ofSectionNamed: title(section.name), key) ?? ""
    }
}

/// Finds the names of sections by their indexes before or after a change.
final class ChangedSections {
    private let titles: SectionTitles
    private let order: FetchedOrder
    /// The names of deleted sections by their old index; the name is nil for the section of null.
    private var gone: [Int: String?] = [:]
    /// The new indexes of moved sections by their old index.
    private var moved: [Int: Int] = [:]
    /// `left`: old indexes of deleted and moved sections. `came`: new indexes of inserted and moved sections. Both are ascending.
    private var left: [Int] = []
    private var came: [Int] = []
    private var names: [Int: String?] = [:]

    /// Takes a change and the order after it.
    init(_ change: ResultsChange, _ order: FetchedOrder, _ titles: SectionTitles) {
        (self.order, self.titles) = (order, titles)
        for (index, event) in change.sections.enumerated() {
            switch event {
            case .delete(let from, _):
                gone.updateValue(change.sectionName(ofEvent: index).map { titles.title($0) }, forKey: from)
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

    /// Returns the name of a section by its index after the change; nil for the section of null. O(log n).
    func name(ofNew index: Int) throws -> String? {
        if let known = names[index] { return known }
        let name = titles.title(of: try order.section(at: index))
        names.updateValue(name, forKey: index)
        return name
    }

    /// Returns the name of a section by its index before the change. The section of an object that was renamed has the new name.
    func name(ofOld index: Int) throws -> String? {
        if let name = gone[index] { return name }
        if let new = moved[index] { return try name(ofNew: new) }
        // Other sections keep their relative order, so the new index follows from the numbers of sections that left and came before it.
        var new = index - left.count { $0 < index }
        for arrival in came where arrival <= new { new += 1 }
        return try name(ofNew: new)
    }
}

extension Value {
    /// The value as the tool prints it for people.
    var shownText: String {
        if case .boolean(let value) = self { value ? "true" : "false" } else { description }
    }
}
