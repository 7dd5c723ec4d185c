internal import FetchIndexInspection
package import FetchIndex

/// The inspection report of a store, one HTML page that loads no other files; and parts of the live page.
package struct InspectionReport {
    package struct Options {
        /// Whether each cache is checked and, if possible, compared with a newly computed order.
        package var verifies = false
        package var progress: (_ cache: String, _ done: Int, _ total: Int) -> Void = { _, _, _ in }

        package init() {}
    }

    private let container: PersistentContainer
    private let options: Options
    private let information: StoreInformation
    private let state: PinnedState

    /// Reads the facts about a store, and pins its newest state. Throws `StoreError`.
    package init(of container: PersistentContainer, _ options: Options = Options()) throws {
        self.container = container
        self.options = options
        // The information is read before the state is pinned: otherwise it would list this process as a reader of the
        // state.
        information = try container.information()
        state = try container.pinnedState()
    }

    /// Returns the page, and whether it shows no defects; a cache that can't be read counts as a defect. Throws
    /// `StoreError`.
    package func html() throws -> (page: String, isSound: Bool) {
        let names = try state.cacheNames()
        let cards = try names.enumerated().map { try card($1, $0) }
        let page = Page(store: storePart, style: Templates.style, cards: cards, hasCaches: !cards.isEmpty)
        return (try Templates.render(page, .report), cards.allSatisfy { $0.verified?.defects.isEmpty ?? true })
    }

    /// Returns the frame of the live page: the overview of the store, and empty elements that the page's scripts fill.
    /// Reads the commits of the log.
    package func livePage() throws -> String {
        let store = storePart
        return try Templates.render(LivePage(title: store.title, store: store, style: Templates.style), .live)
    }

    package static func livePageWithoutStore() throws -> String {
        try Templates.render(LivePage(title: "no store", store: nil, style: Templates.style), .live)
    }

    /// Returns the overview of the store as an HTML fragment. Reads the commits of the log.
    package func storeHTML() throws -> String { try Templates.render(storePart, .store) }

    /// Returns the card of a cache as an HTML fragment. Throws `StoreError`.
    package func cardHTML(ofCache name: String) throws -> String { try Templates.render(try card(name, 0), .card) }

    private func card(_ name: String, _ number: Int) throws -> Card {
        do {
            return try CacheCard(name, number, container, state, options).card()
        } catch  where error is StoreError || error is CacheError {
            return Card(name: name.visible, anchor: "cache\(number)", defect: "\(error)".visible)
        }
    }

    private var storePart: StorePart {
        let folder = String(information.path.split(separator: "/").last ?? "store")
        // The report leaves out an unreadable log; `check` reports it.
        let commits = (try? CommitChart(state).figure()) ?? nil
        return StorePart(
            title: folder.visible, facts: Self.facts(information), entities: information.entities.map(Self.row),
            file: Self.file(information), fileParts: Self.parts(information),
            readers: information.readers.map(Self.sentence), commits: commits)
    }

    private static func facts(_ information: StoreInformation) -> [Fact] {
        let log = information.log
        return [
            Fact(name: "commit", value: Numbers.grouped(Int(clamping: information.commit))),
            Fact(name: "objects", value: Numbers.grouped(information.entities.reduce(0) { $0 + $1.count })),
            Fact(
                name: "file",
                value: "\(Numbers.bytes(information.fileBytes)), \(Numbers.bytes(information.freeBytes)) of it free"),
            Fact(
                name: "log",
                value: "commits after \(Numbers.grouped(Int(clamping: log.start))), \(Numbers.bytes(log.bytes)) "
                    + "of at most \(Numbers.bytes(log.limit))"),
            Fact(name: "format", value: "\(information.format)"),
        ]
            + information.bookmarks.map { bookmark in
                let reach =
                    bookmark.isReachable ? "keeps \(Numbers.bytes(bookmark.pinnedBytes)) of the log" : "passed over"
                return Fact(
                    name: "bookmark \(bookmark.name.visible)",
                    value: "commit \(Numbers.grouped(Int(clamping: bookmark.commit))), \(reach)")
            }
    }

    private static func row(_ entity: StoreInformation.Entity) -> EntityRow {
        EntityRow(
            name: entity.name.visible, count: Numbers.grouped(entity.count),
            attributes: entity.attributes.map { attribute in
                "\(attribute.name.visible): \(attribute.type)" + (attribute.isUnique ? ", unique" : "")
            }.joined(separator: "; "),
            relationships: entity.relationships.map { relationship in
                "\(relationship.name.visible): \(relationship.isToMany ? "many" : "one") of \(relationship.destination.visible)"
            }.joined(separator: "; "))
    }

    /// Returns the sizes of the tables that have pages, the largest first, then the free space. Pages that LMDB uses
    /// for itself are left out.
    private static func shares(_ information: StoreInformation) -> [(name: String, bytes: Int)] {
        let tables = information.tables.filter { $0.bytes > 0 }.map { (name: $0.name, bytes: $0.bytes) }
        return tables.sorted { ($1.bytes, $0.name) < ($0.bytes, $1.name) } + [("free", information.freeBytes)]
    }

    private static func style(_ name: String, _ index: Int) -> String { name == "free" ? "free" : "part\(index)" }

    private static func file(_ information: StoreInformation) -> Figure {
        let parts = shares(information).enumerated().map { index, share in
            (
                title: "\(share.name): \(Numbers.bytes(share.bytes))", value: Double(share.bytes),
                style: style(share.name, index)
            )
        }
        return Figure(title: "The file by table", svg: ShareBar(parts).svg(title: "The file by table"))
    }

    private static func parts(_ information: StoreInformation) -> [FilePart] {
        shares(information).enumerated().map { index, share in
            FilePart(name: share.name, size: Numbers.bytes(share.bytes), style: style(share.name, index))
        }
    }

    private static func sentence(_ reader: StoreInformation.Reader) -> String {
        let process = "process \(reader.process)\(reader.program.map { " (\($0.visible))" } ?? "")"
        if reader.age == 0 { return "\(process) sees the newest transaction" }
        let time =
            reader.seconds.map { ", \(reader.isOlder ? "more than " : "")\(Numbers.span(seconds: $0)) old" } ?? ""
        return "\(process) is \(Numbers.count(reader.age, "transaction")) behind\(time), "
            + "and pins \(Numbers.bytes(reader.pinnedBytes))"
    }
}
