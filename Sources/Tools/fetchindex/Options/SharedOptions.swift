internal import FetchIndexTerminal
internal import FetchIndexInspection
internal import FetchIndexModels
internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexPlatform

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case table
    case json
}

struct OutputOption: ParsableArguments {
    @Option(help: "Text for people, or JSON for programs.")
    var output = OutputFormat.table

    var isJSON: Bool { output == .json }
}

struct ThreadsOption: ParsableArguments {
    @Option(
        help: "The number of threads that read, convert and sort; by default the number of processors, at most 8.")
    var threads: Int?

    var count: Int { threads ?? Threads.available }

    func validate() throws {
        if let threads, !(1...Threads.most).contains(threads) {
            throw ValidationError("--threads must be from 1 to \(Threads.most).")
        }
    }
}

struct ListsOption: ParsableArguments {
    @Flag(help: "Accept JSON lists and objects as values, and store them as JSON text without whitespace.")
    var listsAsText = false
}

struct StoreArgument: ParsableArguments {
    @Argument(help: "The store's folder.", completion: .directory)
    var store: String

    /// Opens an existing store. If it can't be written, for example because its file has the layout of another LMDB, and
    /// `forWriting` is false, it is opened for reading only.
    func open(
        forWriting: Bool = true, threads: Int = Threads.available, ignoringPageChecksums: Bool = false
    ) throws -> PersistentContainer {
        do {
            return try PersistentContainer(
                storeAt: store, threads: threads, ignoresPageChecksums: ignoringPageChecksums)
        } catch  where !forWriting {
            switch error {
            case StoreError.inaccessible, StoreError.otherLMDBVersion: break
            default: throw error
            }
            return try PersistentContainer(
                storeAt: store, isReadOnly: true, threads: threads, ignoresPageChecksums: ignoringPageChecksums)
        }
    }
}

struct TimeoutOption: ParsableArguments {
    @Option(
        name: .customLong("timeout"),
        help: ArgumentHelp(
            "The maximum number of seconds to wait for another writer; by default, the build of a cache waits without limit.",
            valueName: "seconds"))
    var seconds: Double?

    var limit: Duration? { seconds.map { .seconds($0) } }

    func validate() throws {
        if let seconds, !(0...1e6).contains(seconds) {
            throw ValidationError("--timeout must be a number of seconds from 0 to 1,000,000.")
        }
    }
}

/// The options that define a request: the sections and rows of an order.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .customLong("where"), parsing: .unconditional,
        help: "A predicate, e.g. 'price < 2000 AND title CONTAINS[c] \"影\"'.")
    var predicate: String?

    @Option(help: "Sort keys: KEY[:desc][:caseInsensitive|:localized=ja|…], separated by commas.")
    var sort: String?

    @Option(
        help: """
            Section key: KEY, prefix(KEY,1), indexTitle(KEY,ja) or bucket(KEY,1000); day, week, month, quarter or year, in the \
            forms week(KEY), week(KEY,Asia/Tokyo) and week(KEY,Asia/Tokyo,japanese); or relationship(PATH,KEY) for a section \
            for each related object.
            """)
    var section: String?

    @Option(help: "The order of the sections: first-row (the default), name, name:desc, count or count:asc.")
    var sectionOrder: String?

    @Option(
        help:
            "Aggregates of sections, or of all rows: count(KEY), sum(KEY), min(KEY), max(KEY), average(KEY), fingerprint, separated by commas."
    )
    var aggregate: String?

    @Flag(inversion: .prefixedNo, help: "Include objects of the entity's subentities.")
    var includeSubentities = true

    @Option(help: "Memory for sorting in MiB; larger sorts use temporary files.")
    var memory = PersistentContainer.OrderOptions().memoryBudget >> 20

    func validate() throws {
        guard (1...1 << 20).contains(memory) else { throw ValidationError("--memory must be from 1 to 1,048,576 MiB.") }
    }

    var isEmpty: Bool { predicate == nil && hasOnlyPredicate && includeSubentities }

    /// Whether nothing else than the predicate and the inclusion of subentities is given.
    var hasOnlyPredicate: Bool { sort == nil && section == nil && sectionOrder == nil && aggregate == nil }

    func definition(of entity: String) throws -> OrderDefinition {
        var definition = OrderDefinition(entity: entity)
        definition.predicate = try predicate.map { format in
            try MalformedPredicate.naming(format) { try FetchPredicate(format: format, argumentArray: []) }
        }
        definition.sortKeys = try SortKey<ManagedObject>.list(parsing: sort ?? "")
        definition.sectionKey = try section.map { try SectionKey(parsing: $0) }
        definition.includesSubentities = includeSubentities
        definition.aggregates = try Aggregate<ManagedObject>.list(parsing: aggregate ?? "")
        definition.sectionOrder = try sectionOrder.map { try SectionOrder(parsing: $0) } ?? .byFirstRow
        return definition
    }

    /// Returns the cache's own definition if no request options are given and the entity is nil or the cache's;
    /// otherwise the definition of the options. Returns nil if the cache doesn't exist and the options or the entity
    /// are missing. Throws if the cache's request can't be read and the options or the entity are missing.
    func definition(of entity: String?, cache: String, in container: PersistentContainer) throws -> OrderDefinition? {
        switch try container.pinnedState().request(ofCache: cache) {
        case nil: return try isEmpty ? nil : entity.map { try definition(of: $0) }
        case .unusable(let reason):
            guard let entity, !isEmpty else {
                throw Failure(
                    "the cache \"\(cache)\" cannot be used (\(reason.rawValue)); pass its request to `fetch` to rebuild it"
                )
            }
            return try definition(of: entity)
        case .readable(let request):
            if isEmpty && (entity == nil || entity == request.entity) { return try request.definition() }
            return try definition(of: entity ?? request.entity)
        }
    }

    /// Returns the definition of an existing cache. Throws if the cache doesn't exist, or if the given request options
    /// are of another request. If the cache's request can't be read, returns the definition of the options; throws if
    /// the options or the entity are missing.
    func definition(ofExisting cache: String, entity: String?, in container: PersistentContainer) throws
        -> OrderDefinition
    {
        guard try container.cacheNames().contains(cache),
            let wanted = try definition(of: entity, cache: cache, in: container)
        else { throw try container.unknownCache(cache) }
        if case .readable(let request)? = try? container.pinnedState().request(ofCache: cache),
            try !request.isSame(as: wanted)
        {
            throw RequestError.malformed(
                "the cache \"\(cache)\" has another request; leave out the request options, or pass them to `fetch` to replace the cache"
            )
        }
        return wanted
    }

    /// Returns the definition of a stored cache, and the options for opening it. Throws if its request can't be read.
    static func existing(
        _ name: String, in container: PersistentContainer, _ bar: ProgressBar, author: String
    ) throws -> (definition: OrderDefinition, options: PersistentContainer.OrderOptions) {
        let options = try RequestOptions.parse([])
        let definition = try options.definition(ofExisting: name, entity: nil, in: container)
        return (definition, options.orderOptions(cacheName: name, bar, author: author))
    }

    func orderOptions(
        cacheName: String?, _ bar: ProgressBar, author: String, needsExactChange: Bool = false
    ) -> PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: cacheName)
        options.needsExactChange = needsExactChange
        options.author = author
        options.memoryBudget = memory << 20
        options.progress = { done, total in bar.show(rows: done, of: total) }
        return options
    }
}

extension Model {
    /// Returns the entity with a name; if the name is nil, the model's only entity. Throws if there are several.
    func entity(orOnly name: String?) throws -> Entity {
        if let name {
            guard let found = entity(named: name) else { throw unknownEntity(name) }
            return found
        }
        guard entities.count == 1 else {
            if entities.isEmpty { throw ValidationError("The store has no entities.") }
            let names = entities.map(\.name).joined(separator: ", ")
            throw ValidationError("The store has the entities \(names); pass --entity.")
        }
        return entities[0]
    }
}

extension StorePoint {
    /// Parses the number of a commit, a time in ISO 8601, or the name of a bookmark, which doesn't begin with a digit.
    static func parse(_ text: String) throws -> StorePoint {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        if text.utf8.allSatisfy(digits.contains), let commit = UInt64(text) { return .commit(commit) }
        guard text.utf8.first.map(digits.contains) == true else { return .bookmark(text) }
        guard case .date(let time)? = Value(text, as: .date) else {
            throw ValidationError(
                "\"\(text)\" is neither the number of a commit nor a time such as 2026-11-29T04:18:10Z, and bookmarks don't begin with a digit."
            )
        }
        return .time(time)
    }

    /// Returns the sentence for a point that the log doesn't reach, with the points that it reaches.
    func unreachable(in container: PersistentContainer) throws -> Failure {
        let information = try container.information()
        if case .commit(let commit) = self, commit > information.commit {
            return Failure("there is no commit \(commit) yet; the newest one is \(information.commit)")
        }
        return Failure(
            "the change log no longer reaches back to that point; the oldest commit that it reaches is \(information.log.start)"
        )
    }
}
