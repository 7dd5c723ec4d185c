internal import FetchIndexInspection
internal import Mustache

/// The templates of the pages and their pieces.
package enum Templates {
    enum Name: String, CaseIterable { case report, live, store, card, changes, markdown }

    /// A template does not parse. That is a programming mistake, which the tests find.
    struct Malformed: Error { let name: String }

    package static let style = String(decoding: PackageResources.report_css, as: UTF8.self)

    private static let library: MustacheLibrary = {
        _ = markup
        var library = MustacheLibrary()
        for name in Name.allCases {
            try? library.register(String(decoding: name.source, as: UTF8.self), named: name.rawValue)
        }
        return library
    }()

    static func render(_ values: Any, _ name: Name) throws -> String {
        guard let text = library.render(values, withTemplate: name.rawValue) else {
            throw Malformed(name: name.rawValue)
        }
        return text
    }

    /// Renders a page with a template of another module.
    package static func render(_ values: Any, template: [UInt8]) throws -> String {
        _ = markup
        return try MustacheTemplate(string: String(decoding: template, as: UTF8.self)).render(values)
    }

    /// Registers the content types once; Mustache's registry is global.
    private static let markup: Void = {
        MustacheContentTypes.register(Markup(), named: "MARKUP")
        MustacheContentTypes.register(Markdown(), named: "MARKDOWN")
    }()

    /// Escapes by scalars, not by characters: "<" followed by a combining mark is another character than "<".
    private struct Markup: MustacheContentType {
        func escapeText(_ text: String) -> String { SVG.escaped(text) }
    }

    /// Puts a backslash before each character that may be syntax (CommonMark 0.31, section 2.4).
    private struct Markdown: MustacheContentType {
        private static let syntax: Set<Unicode.Scalar> = Set(#"\`*_{}[]<>()#+!|~&^$"#.unicodeScalars)

        func escapeText(_ text: String) -> String {
            var escaped = String.UnicodeScalarView()
            for scalar in text.unicodeScalars {
                if Self.syntax.contains(scalar) { escaped.append("\\") }
                escaped.append(scalar)
            }
            return String(escaped)
        }
    }
}

extension Templates.Name {
    fileprivate var source: [UInt8] {
        switch self {
        case .report: PackageResources.report_mustache
        case .live: PackageResources.live_mustache
        case .store: PackageResources.store_mustache
        case .card: PackageResources.card_mustache
        case .changes: PackageResources.changes_mustache
        case .markdown: PackageResources.markdown_mustache
        }
    }
}
