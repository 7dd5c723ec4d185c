import FetchIndex
import Foundation
import FetchIndexTestSupport

class Work: ManagedObject {
    @Attribute("code", isUnique: true) var code: Int
    @Attribute("title") var title = ""
    @Attribute("publisher") var publisher: String?

    override class var isAbstract: Bool { self == Work.self }
}

class Tome: Work {
    @Attribute("pages") var pages: Int?
}

final class Manga: Tome {
    @Attribute("artist") var artist: String?
}

final class Periodical: Work {
    @Attribute("issue") var issue: Int?
}

/// A store of works, which are tomes, manga or periodicals.
struct Works {
    let folder = TemporaryFolder()
    // Subclasses are listed before their base classes, because the order must not matter.
    static let model = Model(Manga.self, Periodical.self, Tome.self, Work.self)

    func open(_ model: Model? = Works.model, _ migration: MigrationPolicy = .freeChanges) throws
        -> PersistentContainer
    {
        try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: model, migration: migration, durability: .none)
    }

    /// Inserts an object for each row, with the row's values.
    func insert(_ entity: String, _ rows: [[String: Value]], _ container: PersistentContainer) throws {
        let context = container.newContext()
        for row in rows {
            let object = try context.insert(entity)
            for (name, value) in row { object[name] = value }
        }
        try context.save()
    }

    /// Inserts tomes, manga and periodicals in turn, with codes that count from 0.
    func fill(_ container: PersistentContainer, _ count: Int) throws {
        let context = container.newContext()
        for code in 0..<count {
            let work: Work
            switch code % 3 {
            case 0:
                let tome = Tome(context: context)
                tome.pages = code * 10
                work = tome
            case 1:
                let manga = Manga(context: context)
                (manga.pages, manga.artist) = (code, "artist \(code % 4)")
                work = manga
            default:
                let periodical = Periodical(context: context)
                periodical.issue = code
                work = periodical
            }
            work.code = code
            work.title = "title \(code * 7 % 101)"
            work.publisher = "publisher \(code % 5)"
        }
        try context.save()
    }
}

extension AttributeDescription {
    static let isbn = AttributeDescription("isbn", .string)
    static let uniqueISBN = AttributeDescription("isbn", .string, isUnique: true)
    static let title = AttributeDescription("title", .string)
}
