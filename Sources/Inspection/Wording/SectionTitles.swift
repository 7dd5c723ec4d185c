package import FetchIndex
package import FetchIndexModels
package import FetchIndexValues

/// Converts section names to the form that people read: sections by a boolean are called "false" and "true" instead of "0" and "1".
package struct SectionTitles: Sendable {
    private static let booleans = ["0": "false", "1": "true"]

    private let areBooleans: Bool
    private let key: SectionKey?

    package init(_ key: SectionKey?, _ order: FetchedOrder) {
        self.init(key, areBooleans: Self.attribute(of: key).map(order.isBoolean) ?? false)
    }

    package init(_ key: SectionKey?, of entity: String, in model: Model) {
        let type = Self.attribute(of: key).flatMap { name in
            try? FetchedColumn(name, of: [model.number(of: entity)], in: model).type
        }
        self.init(key, areBooleans: type == .boolean)
    }

    /// Makes titles for the stored request of a cache. If the request can't be read, names are titles.
    package init(ofCache name: String, in state: PinnedState) throws {
        guard case .readable(let request) = try state.request(ofCache: name), let definition = try? request.definition()
        else {
            self.init(nil, areBooleans: false)
            return
        }
        self.init(definition.sectionKey, of: definition.entity, in: state.model)
    }

    private init(_ key: SectionKey?, areBooleans: Bool) { (self.key, self.areBooleans) = (key, areBooleans) }

    /// The attribute whose values are the section names, if any.
    private static func attribute(of key: SectionKey?) -> String? {
        switch key {
        case .attribute, .relationship: key?.attribute
        default: nil
        }
    }

    package func title(_ name: String) -> String { areBooleans ? Self.booleans[name] ?? name : name }

    /// Returns the title of a section; nil for the section of null.
    package func title(of section: FetchedSection) -> String? { section.isNull ? nil : title(section.name) }

    package func indexTitle(of section: FetchedSection) -> String {
        SectionKey.indexTitle(ofSectionNamed: title(section.name), key) ?? ""
    }
}

extension Value {
    /// The value as people read it: booleans are "false" and "true".
    package var shownText: String {
        if case .boolean(let value) = self { value ? "true" : "false" } else { description }
    }
}
