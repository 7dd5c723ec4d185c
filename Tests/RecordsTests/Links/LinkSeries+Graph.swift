import FetchIndexModels

/// The objects and links that a store must have, as plain sets and dictionaries: books with authors, covers and tags.
struct LinkGraph {
    struct Book: Hashable {
        var author: UInt64?
        var cover: UInt64?
    }

    struct Link: Hashable {
        let book: UInt64
        let tag: UInt64
    }

    /// The delete rule of an author's books.
    let rule: DeleteRule
    var authors: Set<UInt64> = []
    var covers: Set<UInt64> = []
    var tags: Set<UInt64> = []
    var books: [UInt64: Book] = [:]
    var links: [UInt64: Link] = [:]

    init(_ rule: DeleteRule) { self.rule = rule }

    /// Whether a book may be written with these references. `old` has its present references, and `number` is its own
    /// number.
    func allows(_ book: Book, replacing old: Book? = nil, except number: UInt64? = nil) -> Bool {
        if let author = book.author, author != old?.author, rule != .noAction, !authors.contains(author) {
            return false
        }
        guard let cover = book.cover, cover != old?.cover else { return true }
        return covers.contains(cover) && !books.contains { $0.key != number && $0.value.cover == cover }
    }

    /// An object, named by its entity and its object number.
    struct Object: Hashable {
        let entity: Int
        let number: UInt64
    }

    func has(_ object: Object) -> Bool {
        switch object.entity {
        case LinkSeries.author: authors.contains(object.number)
        case LinkSeries.book: books[object.number] != nil
        case LinkSeries.cover: covers.contains(object.number)
        default: tags.contains(object.number)
        }
    }

    /// Deletes objects by the delete rules. Returns false if a rule denies that; the graph can't be used after that.
    mutating func delete(_ objects: [Object]) -> Bool {
        let deletedAuthors = objects.filter { $0.entity == LinkSeries.author }.map(\.number)
        for object in objects {
            switch object.entity {
            case LinkSeries.author: authors.remove(object.number)
            case LinkSeries.book: books[object.number] = nil
            case LinkSeries.cover: covers.remove(object.number)
            default: tags.remove(object.number)
            }
        }
        for (number, book) in books where book.author.map(deletedAuthors.contains) ?? false {
            switch rule {
            case .nullify: books[number]?.author = nil
            case .cascade: books[number] = nil
            case .deny: return false
            case .noAction: break
            }
        }
        for (number, book) in books where book.cover.map({ !covers.contains($0) }) ?? false {
            books[number]?.cover = nil
        }
        links = links.filter { books[$0.value.book] != nil && tags.contains($0.value.tag) }
        return true
    }

    // MARK: Paths

    /// The objects that a path leads to. An object that is reached several times is included several times.
    func ends(of object: Object, _ path: [String]) -> [Object] {
        guard let step = path.first else { return [object] }
        return next(of: object, step).filter(has).flatMap { ends(of: $0, Array(path.dropFirst())) }
    }

    private func next(of object: Object, _ step: String) -> [Object] {
        func all(_ entity: Int, _ numbers: some Sequence<UInt64>) -> [Object] {
            numbers.sorted().map { Object(entity: entity, number: $0) }
        }
        let number = object.number
        switch (object.entity, step) {
        case (LinkSeries.book, "author"):
            return all(LinkSeries.author, [books[number]?.author].compactMap { $0 })
        case (LinkSeries.book, "cover"):
            return all(LinkSeries.cover, [books[number]?.cover].compactMap { $0 })
        case (LinkSeries.book, "tags"):
            return all(LinkSeries.tag, links.values.filter { $0.book == number }.map(\.tag))
        case (LinkSeries.author, _):
            return all(LinkSeries.book, books.filter { $0.value.author == number }.keys)
        case (LinkSeries.cover, _):
            return all(LinkSeries.book, books.filter { $0.value.cover == number }.keys)
        default: return all(LinkSeries.book, links.values.filter { $0.tag == number }.map(\.book))
        }
    }
}
