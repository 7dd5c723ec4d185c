import FetchIndexLMDB
import FetchIndexRecords
import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

final class Topic: ManagedObject {
    @Attribute("name") var name: String
}

final class Post: ManagedObject {
    @Attribute("conversation") var conversation: ObjectID
    @Attribute("answers") var answers: ObjectID?
    @Attribute("text") var text: String
}

/// Ids that are encoded and decoded again, stored as values of attributes, or used in another store or a backup.
@Suite struct ObjectIDTests {
    let store: LiveStore
    let context: ManagedObjectContext
    let conversation: Topic

    init() throws {
        store = try LiveStore(Model(Topic.self, Post.self))
        context = store.container.newContext()
        conversation = Topic(context: context)
        conversation.name = "日本/SF?"
        try context.save()
    }

    private func message(_ text: String) throws -> Post {
        let message = Post(context: context)
        (message.conversation, message.text) = (conversation.objectID, text)
        return message
    }

    @Test func anIDNamesItsEntityAndItsStore() throws {
        let message = try message("a")
        try context.save()
        #expect(conversation.objectID.entityName == "Topic")
        #expect(message.objectID.entityName == "Post")
        #expect(message.objectID.storeIdentifier == store.container.storeIdentifier)
        #expect(message.objectID.storeIdentifier != nil)
        #expect(message.objectID != conversation.objectID)
    }

    @Test func anIDIsValidAfterTheStoreIsOpenedAgain() throws {
        let text = try JSONEncoder().encode([conversation.objectID])
        let uri = try #require(conversation.objectID.uriRepresentation)
        let decoded = try JSONDecoder().decode([ObjectID].self, from: text)
        #expect(decoded == [conversation.objectID])
        #expect(decoded.first.hashValue == Optional(conversation.objectID).hashValue)
        #expect(ObjectID(uriRepresentation: uri) == conversation.objectID)
        let other = try store.reopened().newContext()
        let found = try other.existingObject(with: decoded[0], as: Topic.self)
        #expect(found.name == conversation.name)
        #expect(found.objectID == conversation.objectID)
    }

    @Test func aURIEscapesTheNameOfTheEntity() throws {
        let entity = Entity("本 /%?#", [AttributeDescription("a", .string)])
        let container = try PersistentContainer(temporaryWith: Model(entities: [entity]))
        let context = container.newContext()
        let object = try context.insert(entity.name)
        try context.save()
        let uri = try #require(object.objectID.uriRepresentation)
        let id = try #require(ObjectID(uriRepresentation: uri))
        #expect(id == object.objectID)
        #expect(id.entityName == entity.name)
    }

    /// A segment of a path is encoded as Foundation does it.
    @Test func namesArePercentEncodedAsFoundationDoes() throws {
        let plain = CharacterSet.urlPathAllowed.subtracting(["/"])
        let ascii = String(String.UnicodeScalarView((1..<128).compactMap { Unicode.Scalar(UInt8($0)) }))
        for name in [ascii, "本", "a b%20", "e\u{301}", "😀;=@:"] {
            let container = try PersistentContainer(
                temporaryWith: Model(entities: [Entity(name, [AttributeDescription("a", .string)])]))
            let context = container.newContext()
            let object = try context.insert(name)
            try context.save()
            let uri = try #require(object.objectID.uriRepresentation?.absoluteString)
            let expected = try #require(name.addingPercentEncoding(withAllowedCharacters: plain))
            #expect(uri.split(separator: "/").last.map(String.init) == expected)
            #expect(URL(string: uri).flatMap(ObjectID.init(uriRepresentation:)) == object.objectID)
        }
    }

    @Test(arguments: [
        "", "fetchindex://", "http://a/0/1/Book", "fetchindex:///0/0/Book", "fetchindex:///0/1", "fetchindex:///0/1/",
        "fetchindex:///0/1/Book/x", "fetchindex://no-uuid/0/1/Book", "fetchindex:///65536/1/Book",
        "fetchindex:///0/140737488355328/Book", "fetchindex:///-1/1/Book", "fetchindex:///0/1/%FF",
    ])
    func malformedIDsAreRefused(text: String) {
        #expect(URL(string: text).flatMap(ObjectID.init(uriRepresentation:)) == nil)
        #expect(ObjectID(attributeValue: .string(text)) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ObjectID].self, from: JSONEncoder().encode([text]))
        }
    }

    @Test func anIDOfAnotherStoreIsRefused() throws {
        let other = try LiveStore(Model(Topic.self))
        let context = other.container.newContext()
        let twin = Topic(context: context)
        twin.name = "twin"
        try context.save()
        #expect(twin.objectID.number == conversation.objectID.number)
        #expect(twin.objectID != conversation.objectID)
        #expect(context.registeredObject(for: conversation.objectID) == nil)
        #expect(throws: ContextError.otherStore(conversation.objectID)) {
            try context.existingObject(with: conversation.objectID)
        }
        let writer = try BatchWriter(other.container, entity: "Topic")
        #expect(throws: ContextError.self) { try writer.values(of: conversation.objectID) }
        #expect(throws: ContextError.self) { try writer.update(conversation.objectID, [.string("wrong")]) }
        #expect(throws: ContextError.self) { try writer.delete(conversation.objectID) }
        #expect(twin.name == "twin")
    }

    @Test func aTemporaryIDHasNoURIAndIsNotEncoded() throws {
        let message = try message("a")
        #expect(message.objectID.isTemporary)
        #expect(message.objectID.uriRepresentation == nil)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([message.objectID]) }
    }

    @Test func objectIDsAreStoredAndComparedAsAttributeValues() throws {
        let first = try message("first")
        try context.save()
        let second = try message("second")
        second.answers = first.objectID
        try context.save()

        let reader = try store.reopened().newContext()
        var request = FetchRequest<Post>(
            predicate: FetchPredicate(\Post.conversation == conversation.objectID), sortKeys: [SortKey(\.text)])
        let found = try reader.fetch(request)
        #expect(found.map(\.text) == ["first", "second"])
        let answered = try #require(found.last?.answers)
        #expect(try reader.existingObject(with: answered, as: Post.self).text == "first")
        request.predicate = try FetchPredicate("answers == %@", first.objectID)
        #expect(try reader.fetch(request).map(\.text) == ["second"])
        request.predicate = nil
        request.sortKeys = [SortKey(\.conversation), SortKey(\.answers, .descending)]
        #expect(try reader.fetch(request).map(\.text) == ["second", "first"])
    }

    /// A store of an older version of FetchIndex may have no identifier, and gets one with its next commit. Ids that
    /// were made earlier stay valid.
    @Test func aStoreOfAnOlderVersionAcceptsIDsAndGetsAnIdentifier() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        let id: ObjectID
        do {
            let container = try PersistentContainer(at: url, model: Model(Topic.self), durability: .none)
            let context = container.newContext()
            let conversation = Topic(context: context)
            conversation.name = "old"
            try context.save()
            try removeIdentifier(container)
        }
        do {
            let old = try PersistentContainer(at: url, durability: .none)
            #expect(old.storeIdentifier == nil)
            #expect(try old.check { _, _ in } == [])
            let context = old.newContext()
            id = try context.objectID(of: "Topic", number: 1)
            #expect(try context.existingObject(with: id)["name"] == "old")
            try context.insert("Topic")["name"] = "new"
            try context.save()
        }
        let new = try PersistentContainer(at: url, durability: .none)
        #expect(new.storeIdentifier != nil)
        let context = new.newContext()
        #expect(try context.existingObject(with: id)["name"] == "old")
    }

    /// Ids in a backup's attributes identify the backup's objects. After the backup, both stores give new objects the
    /// same numbers, but different ids.
    @Test func aBackupAcceptsIDsOfItsOriginalOnlyFromBeforeItWasMade() throws {
        _ = try message("a")
        try context.save()
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        try store.container.backup(to: url)
        let backup = try PersistentContainer(at: url, durability: .none)
        #expect(backup.storeIdentifier != nil && backup.storeIdentifier != store.container.storeIdentifier)
        let other = backup.newContext()
        let topic = try #require(try other.fetch(FetchRequest<Topic>()).first)
        #expect(topic.objectID == conversation.objectID)
        let request = FetchRequest<Post>(
            predicate: FetchPredicate(\Post.conversation == topic.objectID), sortKeys: [SortKey(\.text)])
        #expect(try other.fetch(request).map(\.text) == ["a"])
        let (mine, its) = (Topic(context: context), Topic(context: other))
        (mine.name, its.name) = ("mine", "its")
        try context.save()
        try other.save()
        #expect(mine.objectID.number == its.objectID.number && mine.objectID != its.objectID)
        #expect(throws: ContextError.otherStore(mine.objectID)) { try other.existingObject(with: mine.objectID) }
        #expect(throws: ContextError.otherStore(its.objectID)) { try context.existingObject(with: its.objectID) }
    }

    @Test func repairReportsAndRemovesADamagedListOfABackupsOriginals() throws {
        try context.save()
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        try store.container.backup(to: url)
        do {
            let backup = try PersistentContainer(at: url, durability: .none)
            let writer = try backup.store.beginWrite()
            let meta = try backup.store.environment.tables([TableDescription("meta")], creating: false)[0]
            try writer.view.put([1, 2, 3, 4, 5], for: Array("originals".utf8), in: meta)
            try writer.commit()
        }
        let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: folder.path)) { _, _ in }
        #expect(repair.defects.contains { $0.contains("an origin of the store's numbers") }, "\(repair.defects)")
        #expect(repair.repairs.count == 1 && repair.left.isEmpty, "\(repair)")
        let whole = try PersistentContainer(at: url, durability: .none)
        #expect(try whole.check { _, _ in } == [])
        #expect(throws: ContextError.otherStore(conversation.objectID)) {
            try whole.newContext().existingObject(with: conversation.objectID)
        }
    }

    /// If the store's identity or its object counters can't be read, ids of the backup couldn't be distinguished from
    /// ids of the original.
    @Test(arguments: [Array("identifier".utf8), Array("originals".utf8), Array("entity".utf8) + [0, 0]])
    func aStoreWithADamagedIdentityOrObjectCounterIsNotBackedUp(key: [UInt8]) throws {
        try context.save()
        let original = TemporaryFolder()
        try store.container.backup(to: URL(fileURLWithPath: original.path))
        let container = try PersistentContainer(at: URL(fileURLWithPath: original.path), durability: .none)
        let writer = try container.store.beginWrite()
        let meta = try container.store.environment.tables([TableDescription("meta")], creating: false)[0]
        try writer.view.put([1, 2, 3, 4, 5], for: key, in: meta)
        try writer.commit()
        let folder = TemporaryFolder()
        #expect { try container.backup(to: URL(fileURLWithPath: folder.path)) } throws: { error in
            if case StoreError.corrupted = error { true } else { false }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        #expect(throws: DamagedBackup.self) {
            try container.checkedBackup(to: URL(fileURLWithPath: folder.path))
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        #expect(FileManager.default.fileExists(atPath: folder.path + ".damaged/data.mdb"))
        try FileManager.default.removeItem(atPath: folder.path + ".damaged")
    }

    private func removeIdentifier(_ container: PersistentContainer) throws {
        let writer = try container.store.beginWrite()
        let key = Array("identifier".utf8)
        let meta = try container.store.environment.tables([TableDescription("meta")], creating: false)[0]
        #expect(try writer.view.delete(key.span.bytes, in: meta))
        try writer.commit()
    }
}
