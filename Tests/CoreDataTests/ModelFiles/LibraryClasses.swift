import FetchIndex
import Foundation

class Work: ManagedObject {
    @Attribute("added") var added: Date
    @Attribute("rating") var rating: Int? = 0
    @Attribute("title", indexed: true) var title: String = ""
    @Relationship("tags", inverse: "works") var tags: Related<Tag>

    override class var isAbstract: Bool { self == Work.self }
}

final class Author: ManagedObject {
    @Attribute("id") var id: UUID
    @Attribute("name") var name: String = ""
    @Attribute("page") var page: URL?
    @Relationship("books", inverse: "authors", ordered: true) var books: Related<Book>
    @Relationship("friends", inverse: "friendOf") var friends: Related<Author>
    @Relationship("friendOf", inverse: "friends") var friendOf: Related<Author>
}

final class House: ManagedObject {
    @Attribute("town") var town: String?
    @Attribute("country") var country: String?
    @Attribute("founded") var founded: Int? = 0
    @Attribute("name") var name: String = ""
    @Attribute("share") var share: Double? = 0.0
    @Relationship("books", inverse: "publisher", deleteRule: .cascade) var books: Related<Book>
}

final class Tag: ManagedObject {
    @Attribute("name") var name: String = ""
    @Relationship("works", inverse: "tags") var works: Related<Work>
}

final class Book: Work {
    @Attribute("cover") var cover: Data?
    @Attribute("isbn", isUnique: true) var isbn: String?
    @Attribute("price") var price: Decimal? = Decimal(string: "0")!
    @Attribute("marks") var marks: Data?
    @Relationship("authors", inverse: "books", ordered: true) var authors: Related<Author>
    @Relationship("publisher", inverse: "books") var publisher: House?
}

final class Film: Work {
    @Attribute("minutes") var minutes: Int? = 0
    @Attribute("isSeen") var isSeen: Bool = false
    @Attribute("director") var director: String?
    @Relationship("based") var based: Book?
}

/// The model that these classes declare.
let declaredModel = Model(Work.self, Book.self, Film.self, Author.self, House.self, Tag.self)
