import FetchIndex
import Testing

/// The expected state of a library: plain lists of objects, which have numbers that the test assigns.
struct PlainLibrary: Equatable {
    enum Kind: String, CaseIterable { case writer, passport, novel, label, chapter, folder }

    struct Pair: Hashable {
        let novel: Int
        let label: Int
    }

    var objects: [Int: Kind] = [:]
    var writerOfNovel: [Int: Int] = [:]
    var ownerOfPassport: [Int: Int] = [:]
    var labels: Set<Pair> = []
    /// The chapters of each novel, in their order.
    var chaptersOfNovel: [Int: [Int]] = [:]
    var parentOfFolder: [Int: Int] = [:]

    func all(_ kind: Kind) -> [Int] { objects.filter { $0.value == kind }.keys.sorted() }

    mutating func setOwner(_ owner: Int?, of passport: Int) {
        for (other, taken) in ownerOfPassport where taken == owner { ownerOfPassport[other] = nil }
        ownerOfPassport[passport] = owner
    }

    mutating func setNovel(_ novel: Int, of chapter: Int, at index: Int? = nil) {
        for key in chaptersOfNovel.keys { chaptersOfNovel[key]?.removeAll { $0 == chapter } }
        chaptersOfNovel[novel, default: []].insert(chapter, at: index ?? chaptersOfNovel[novel]?.count ?? 0)
    }

    func isBelow(_ folder: Int, _ ancestor: Int) -> Bool {
        var next: Int? = folder
        while let current = next {
            if current == ancestor { return true }
            next = parentOfFolder[current]
        }
        return false
    }

    /// Deletes an object, and applies the delete rules of the library.
    mutating func delete(_ object: Int) {
        guard let kind = objects.removeValue(forKey: object) else { return }
        switch kind {
        case .writer:
            writerOfNovel = writerOfNovel.filter { $0.value != object }
            for (passport, owner) in ownerOfPassport where owner == object { delete(passport) }
        case .passport: ownerOfPassport[object] = nil
        case .novel:
            writerOfNovel[object] = nil
            labels = labels.filter { $0.novel != object }
            for chapter in chaptersOfNovel.removeValue(forKey: object) ?? [] { delete(chapter) }
        case .label: labels = labels.filter { $0.label != object }
        case .chapter: for key in chaptersOfNovel.keys { chaptersOfNovel[key]?.removeAll { $0 == object } }
        case .folder:
            parentOfFolder[object] = nil
            for (child, parent) in parentOfFolder where parent == object { delete(child) }
        }
    }
}

/// The objects of a library in a context, by their numbers in the plain library.
struct LiveLibrary {
    var objects: [Int: ManagedObject] = [:]

    func object<Object: ManagedObject>(_ number: Int, _ type: Object.Type = Object.self) throws -> Object {
        try #require(objects[number] as? Object)
    }

    private func number(of object: ManagedObject?) -> Int? {
        object.map { wanted in objects.first { $0.value === wanted }?.key ?? -1 }
    }

    private func numbers(of objects: some Sequence<some ManagedObject>) -> [Int] {
        objects.map { number(of: $0) ?? -1 }
    }

    /// Compares both sides of every relationship with the plain library.
    func check(_ plain: PlainLibrary, _ note: Comment) throws {
        for (number, kind) in plain.objects {
            switch kind {
            case .writer:
                let writer: Writer = try object(number)
                let novels = plain.writerOfNovel.filter { $0.value == number }.map(\.key)
                #expect(Set(numbers(of: writer.novels)) == Set(novels), note)
                #expect(writer.novels.count == novels.count, note)
                #expect(writer.novels.map(\.objectID) == writer.novels.map(\.objectID).sorted(), note)
                #expect(
                    self.number(of: writer.passport) == plain.ownerOfPassport.first { $0.value == number }?.key, note)
            case .passport:
                let passport: Passport = try object(number)
                #expect(self.number(of: passport.owner) == plain.ownerOfPassport[number], note)
            case .novel:
                let novel: Novel = try object(number)
                #expect(self.number(of: novel.writer) == plain.writerOfNovel[number], note)
                let labels = plain.labels.filter { $0.novel == number }.map(\.label)
                #expect(Set(numbers(of: novel.labels)) == Set(labels), note)
                #expect(novel.labels.count == labels.count, note)
                #expect(novel.labels.map(\.objectID) == novel.labels.map(\.objectID).sorted(), note)
                for label in plain.all(.label) {
                    #expect(novel.labels.contains(try object(label)) == labels.contains(label), note)
                }
                #expect(numbers(of: novel.chapters) == plain.chaptersOfNovel[number] ?? [], note)
                #expect(novel.chapters.count == plain.chaptersOfNovel[number]?.count ?? 0, note)
            case .label:
                let label: Label = try object(number)
                let novels = plain.labels.filter { $0.label == number }.map(\.novel)
                #expect(Set(numbers(of: label.novels)) == Set(novels), note)
                #expect(label.novels.count == novels.count && label.novels.isEmpty == novels.isEmpty, note)
            case .chapter:
                let chapter: Chapter = try object(number)
                let novel = plain.chaptersOfNovel.first { $0.value.contains(number) }?.key
                #expect(self.number(of: chapter.novel) == novel, note)
            case .folder:
                let folder: Folder = try object(number)
                #expect(self.number(of: folder.parent) == plain.parentOfFolder[number], note)
                let children = plain.parentOfFolder.filter { $0.value == number }.map(\.key)
                #expect(Set(numbers(of: folder.children)) == Set(children), note)
                #expect(folder.children.count == children.count, note)
            }
        }
    }

    /// The library's objects in another context.
    func copied(to context: ManagedObjectContext, _ plain: PlainLibrary) throws -> LiveLibrary {
        var copy = LiveLibrary()
        for number in plain.objects.keys {
            copy.objects[number] = try context.existingObject(with: try #require(objects[number]).objectID)
        }
        return copy
    }
}
