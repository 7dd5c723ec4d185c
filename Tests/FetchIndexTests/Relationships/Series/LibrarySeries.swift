import FetchIndex
import FetchIndexTestSupport
import Testing

/// Random edits of a library in a context, which are also applied to a plain library.
struct LibrarySeries {
    var random: SeededGenerator
    let store: LiveStore
    let context: ManagedObjectContext
    var plain = PlainLibrary()
    var live = LiveLibrary()
    var saved: (PlainLibrary, LiveLibrary) = (PlainLibrary(), LiveLibrary())
    var nextNumber = 0
    var steps: [String] = []
    /// Whether edits also change attributes.
    var changesValues = false

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        store = try LiveStore(.library)
        context = store.container.newContext()
    }

    mutating func any(_ kind: PlainLibrary.Kind) -> Int? { plain.all(kind).randomElement(using: &random) }

    private mutating func insert(_ kind: PlainLibrary.Kind) throws {
        nextNumber += 1
        let number = nextNumber
        let object: ManagedObject
        switch kind {
        case .writer: object = context.writer("writer \(number)")
        case .passport: object = Passport(context: context)
        case .novel: object = context.novel("novel \(number)")
        case .label: object = context.label("label \(number)")
        case .folder: object = context.folder("folder \(number)")
        case .chapter:
            guard let novel = any(.novel) else { return }
            let chapter = Chapter(context: context)
            chapter.novel = try live.object(novel)
            plain.setNovel(novel, of: number)
            object = chapter
        }
        plain.objects[number] = kind
        live.objects[number] = object
        steps.append("insert \(kind) \(number)")
    }

    private mutating func delete(_ kind: PlainLibrary.Kind) throws {
        guard let number = any(kind) else { return }
        // The delete rule of a label denies its deletion while it has novels.
        if kind == .label && plain.labels.contains(where: { $0.label == number }) { return }
        steps.append("delete \(kind) \(number)")
        context.delete(try live.object(number, ManagedObject.self))
        plain.delete(number)
    }

    private mutating func relateNovel() throws {
        guard let novel = any(.novel) else { return }
        let writer = Int.random(in: 0..<4, using: &random) == 0 ? nil : any(.writer)
        steps.append("writer of \(novel) = \(writer ?? 0)")
        let object: Novel = try live.object(novel)
        let other = try writer.map { try live.object($0, Writer.self) }
        if let other, Bool.random(using: &random) {
            other.novels.insert(object)
        } else if other == nil, let former = object.writer, Bool.random(using: &random) {
            former.novels.remove(object)
        } else {
            object.writer = other
        }
        plain.writerOfNovel[novel] = writer
    }

    private mutating func relatePassport() throws {
        guard let passport = any(.passport) else { return }
        let writer = Int.random(in: 0..<4, using: &random) == 0 ? nil : any(.writer)
        steps.append("owner of \(passport) = \(writer ?? 0)")
        let object: Passport = try live.object(passport)
        if let writer, Bool.random(using: &random) {
            try live.object(writer, Writer.self).passport = object
        } else {
            object.owner = try writer.map { try live.object($0) }
        }
        plain.setOwner(writer, of: passport)
    }

    private mutating func relateLabel() throws {
        guard let novel = any(.novel), let label = any(.label) else { return }
        let (left, right): (Novel, Label) = (try live.object(novel), try live.object(label))
        let pair = PlainLibrary.Pair(novel: novel, label: label)
        steps.append("label \(label) of \(novel)")
        if plain.labels.remove(pair) == nil {
            plain.labels.insert(pair)
            if Bool.random(using: &random) { left.labels.insert(right) } else { right.novels.insert(left) }
        } else if Bool.random(using: &random) {
            left.labels.remove(right)
        } else {
            right.novels.remove(left)
        }
    }

    private mutating func moveChapter() throws {
        guard let chapter = any(.chapter), let novel = any(.novel) else { return }
        let (object, target): (Chapter, Novel) = (try live.object(chapter), try live.object(novel))
        let isSame = plain.chaptersOfNovel[novel]?.contains(chapter) ?? false
        let count = target.chapters.count
        let index = Int.random(in: 0...count, using: &random)
        let place = target.chapters.index(target.chapters.startIndex, offsetBy: index)
        steps.append("chapter \(chapter) to \(novel) at \(index)")
        if isSame {
            let old = plain.chaptersOfNovel[novel]?.firstIndex(of: chapter) ?? 0
            target.chapters.move(object, to: place)
            plain.setNovel(novel, of: chapter, at: index > old ? index - 1 : index)
        } else {
            target.chapters.insert(object, at: place)
            plain.setNovel(novel, of: chapter, at: index)
        }
    }

    private mutating func moveFolder() throws {
        guard let folder = any(.folder), let parent = any(.folder), !plain.isBelow(parent, folder) else { return }
        steps.append("folder \(folder) into \(parent)")
        try live.object(folder, Folder.self).parent = try live.object(parent)
        plain.parentOfFolder[folder] = parent
    }

    private mutating func changeValue() throws {
        let kinds = PlainLibrary.Kind.allCases
        let kind = kinds[Int.random(in: 0..<kinds.count, using: &random)]
        guard let number = any(kind) else { return }
        let value = Int.random(in: 0..<40, using: &random)
        steps.append("value of \(kind) \(number) = \(value)")
        switch try live.object(number, ManagedObject.self) {
        case let writer as Writer: writer.name = "writer \(value) \(number)"
        case let passport as Passport: passport.number = value
        case let novel as Novel: (novel.price, novel.title) = (value, "novel \(value % 7) \(number)")
        case let label as Label: label.name = "label \(value % 5)"
        case let chapter as Chapter: chapter.title = "chapter \(value)"
        case let folder as Folder: folder.name = "folder \(value % 6)"
        default: break
        }
    }

    mutating func step() throws {
        let kinds = PlainLibrary.Kind.allCases
        switch Int.random(in: 0..<(changesValues ? 30 : 24), using: &random) {
        case 0..<5: try insert(kinds[Int.random(in: 0..<kinds.count, using: &random)])
        case 5..<7: try delete(kinds[Int.random(in: 0..<kinds.count, using: &random)])
        case 7..<11: try relateNovel()
        case 11..<13: try relatePassport()
        case 13..<16: try relateLabel()
        case 16..<19: try moveChapter()
        case 19..<21: try moveFolder()
        case 21: context.processPendingChanges()
        case 24..<30: try changeValue()
        case 22:
            steps.append("save")
            try context.save()
            saved = (plain, live)
        default:
            guard Int.random(in: 0..<3, using: &random) == 0 else { return }
            steps.append("roll back")
            try context.rollback()
            (plain, live) = saved
        }
    }
}
