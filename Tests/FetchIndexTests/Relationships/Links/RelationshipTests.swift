import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

@Suite struct RelationshipTests {
    @Test func settingOneSideOfARelationshipSetsTheOther() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let itoh = context.writer("伊藤計劃")
        let first = context.novel("虐殺器官", by: itoh)
        let second = context.novel("ハーモニー")
        #expect(Array(itoh.novels) == [first])
        itoh.novels.insert(second)
        #expect(second.writer === itoh)
        #expect(itoh.novels.count == 2 && itoh.novels.contains(second))
        try context.save()
        #expect(Array(itoh.novels) == [first, second])

        first.writer = nil
        #expect(itoh.novels.count == 1 && Array(itoh.novels) == [second] && !itoh.novels.contains(first))
        itoh.novels.remove(second)
        #expect(itoh.novels.isEmpty && second.writer == nil)
        try context.rollback()
        #expect(Array(itoh.novels) == [first, second] && first.writer === itoh)

        let other = store.container.newContext()
        let found = try #require(try other.fetch(FetchRequest<Writer>()).first)
        #expect(found.novels.map(\.title) == ["虐殺器官", "ハーモニー"])
        #expect(found.novels.first?.writer === found)
    }

    @Test func insertingAnObjectIntoAnotherCollectionMovesIt() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let (a, b) = (context.writer("a"), context.writer("b"))
        let novel = context.novel("v", by: a)
        try context.save()
        b.novels.insert(novel)
        #expect(a.novels.isEmpty && Array(b.novels) == [novel] && novel.writer === b)
        try context.save()
        #expect(a.novels.isEmpty && Array(b.novels) == [novel] && novel.writer === b)
        a.novels = b.novels
        #expect(b.novels.isEmpty && Array(a.novels) == [novel])
    }

    @Test func aOneToOneLinkReplacesFormerLinks() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let (a, b) = (context.writer("a"), context.writer("b"))
        let (first, second) = (Passport(context: context), Passport(context: context))
        a.passport = first
        b.passport = second
        #expect(first.owner === a && second.owner === b)
        try context.save()
        b.passport = first
        #expect(a.passport == nil && b.passport === first && second.owner == nil && first.owner === b)
        second.owner = a
        try context.save()
        #expect(a.passport === second && b.passport === first)
        // Partners are exchanged in one save.
        let held = a.passport
        a.passport = b.passport
        b.passport = held
        #expect(a.passport === first && b.passport === second)
        try context.save()
        let other = store.container.newContext()
        let writers = try other.fetch(FetchRequest<Writer>(sortKeys: [SortKey("name")]))
        #expect(writers.map { $0.passport?.objectID } == [first.objectID, second.objectID])
    }

    @Test func manyToManyLinksAreInsertedAndRemovedFromBothSides() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let novels = (0..<3).map { context.novel("v\($0)") }
        let labels = (0..<3).map { context.label("l\($0)") }
        novels[0].labels.insert(labels[2])
        novels[0].labels.insert(labels[0])
        novels[0].labels.insert(labels[0])
        labels[0].novels.insert(novels[1])
        #expect(Array(novels[0].labels) == [labels[0], labels[2]])
        #expect(Array(labels[0].novels) == [novels[0], novels[1]])
        #expect(context.insertedObjects.count == 6)
        try context.save()
        #expect(Array(novels[0].labels) == [labels[0], labels[2]])
        #expect(Array(labels[0].novels) == [novels[0], novels[1]])
        novels[0].labels.remove(labels[0])
        #expect(Array(labels[0].novels) == [novels[1]] && !labels[0].novels.contains(novels[0]))
        novels[2].labels = novels[0].labels
        #expect(Array(labels[2].novels) == [novels[0], novels[2]])
        try context.save()
        let other = store.container.newContext()
        let found = try other.fetch(FetchRequest<Label>(sortKeys: [SortKey("name")]))
        #expect(found.map { $0.novels.map(\.title) } == [["v1"], [], ["v0", "v2"]])
    }

    @Test func orderedObjectsKeepTheirPositions() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let novel = context.novel("v")
        func chapter(_ title: String) -> Chapter {
            let chapter = Chapter(context: context)
            chapter.title = title
            return chapter
        }
        for title in ["c", "a", "d"] { novel.chapters.insert(chapter(title)) }
        #expect(novel.chapters.map(\.title) == ["c", "a", "d"])
        novel.chapters.insert(chapter("b"), at: novel.chapters.startIndex)
        try context.save()
        #expect(novel.chapters.map(\.title) == ["b", "c", "a", "d"])
        let second = novel.chapters.index(after: novel.chapters.startIndex)
        novel.chapters.insert(chapter("x"), at: second)
        let last = try #require(novel.chapters.first { $0.title == "d" })
        novel.chapters.move(last, to: novel.chapters.startIndex)
        #expect(novel.chapters.map(\.title) == ["d", "b", "x", "c", "a"])
        try context.save()
        let late = chapter("late")
        late.novel = novel
        try context.save()
        let other = store.container.newContext()
        #expect(try other.fetch(FetchRequest<Novel>())[0].chapters.map(\.title) == ["d", "b", "x", "c", "a", "late"])
    }

    @Test func deletionsFollowDeleteRules() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let writer = context.writer("w")
        let passport = Passport(context: context)
        writer.passport = passport
        let novel = context.novel("v", by: writer)
        let label = context.label("l")
        novel.labels.insert(label)
        for title in ["1", "2"] {
            let chapter = Chapter(context: context)
            chapter.title = title
            chapter.novel = novel
        }
        try context.save()

        context.delete(label)
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.failures.map(\.attribute) == ["novels"])
        #expect(error.map { "\($0)".contains("Novel #1 \"v\"") } == true)
        try context.rollback()

        context.delete(writer)
        #expect(novel.writer == nil && passport.isDeleted)
        try context.save()
        #expect(novel.writer == nil && passport.managedObjectContext == nil)

        let chapters = Array(novel.chapters)
        context.delete(novel)
        #expect(chapters.allSatisfy(\.isDeleted) && label.novels.isEmpty)
        context.delete(label)
        try context.save()
        #expect(try context.count(for: FetchRequest<Chapter>()) == 0)
        #expect(try context.count(for: FetchRequest<Label>()) == 0)
    }

    @Test func aRequiredRelationshipIsValidated() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let chapter = Chapter(context: context)
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error.map { "\($0)" } == "objects cannot be saved: new Chapter 1: novel is required")
        chapter.novel = context.novel("v")
        try context.save()
    }

    @Test func deletingAFolderDeletesItsSubtree() throws {
        let store = try LiveStore(.library)
        let context = store.container.newContext()
        let root = context.folder("/")
        let home = context.folder("home", in: root)
        _ = context.folder("a", in: home)
        _ = context.folder("b", in: home)
        let etc = context.folder("etc", in: root)
        try context.save()
        #expect(home.children.map(\.name) == ["a", "b"] && root.children.count == 2)
        context.delete(home)
        try context.save()
        #expect(Array(root.children) == [etc])
        #expect(try context.count(for: FetchRequest<Folder>()) == 2)
    }
}
