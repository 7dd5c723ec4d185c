import FetchIndex
import Foundation

final class Writer: ManagedObject {
    @Attribute("name", isUnique: true) var name: String
    @Relationship("novels", inverse: "writer") var novels: Related<Novel>
    @Relationship("passport", inverse: "owner", deleteRule: .cascade) var passport: Passport?
}

final class Passport: ManagedObject {
    @Attribute("number") var number = 0
    @Relationship("owner", inverse: "passport") var owner: Writer?
}

final class Novel: ManagedObject {
    @Attribute("title") var title: String
    @Attribute("price") var price = 0
    @Relationship("writer", inverse: "novels") var writer: Writer?
    @Relationship("labels", inverse: "novels") var labels: Related<Label>
    @Relationship("chapters", inverse: "novel", ordered: true, deleteRule: .cascade) var chapters: Related<Chapter>
}

final class Label: ManagedObject {
    @Attribute("name") var name: String
    @Relationship("novels", inverse: "labels", deleteRule: .deny) var novels: Related<Novel>
}

final class Chapter: ManagedObject {
    @Attribute("title") var title = ""
    @Relationship("novel", inverse: "chapters", isRequired: true) var novel: Novel?
}

/// A folder in a tree of folders.
final class Folder: ManagedObject {
    @Attribute("name") var name: String
    @Relationship("parent", inverse: "children") var parent: Folder?
    @Relationship("children", inverse: "parent", deleteRule: .cascade) var children: Related<Folder>
}

extension Model {
    static let library = Model(Writer.self, Passport.self, Novel.self, Label.self, Chapter.self, Folder.self)
}

extension ManagedObjectContext {
    func writer(_ name: String) -> Writer {
        let writer = Writer(context: self)
        writer.name = name
        return writer
    }

    func novel(_ title: String, by writer: Writer? = nil) -> Novel {
        let novel = Novel(context: self)
        novel.title = title
        novel.writer = writer
        return novel
    }

    func label(_ name: String) -> Label {
        let label = Label(context: self)
        label.name = name
        return label
    }

    func folder(_ name: String, in parent: Folder? = nil) -> Folder {
        let folder = Folder(context: self)
        folder.name = name
        folder.parent = parent
        return folder
    }
}
