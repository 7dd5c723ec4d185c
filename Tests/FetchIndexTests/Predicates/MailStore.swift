import FetchIndex
import Foundation
import FetchIndexTestSupport

/// A mail program's objects, as plain values and in a store.
struct MailStore {
    final class Message {
        let uid: Int
        let subject: String?
        let sender: String
        let body: String
        let sent: Date
        let isRead: Bool
        let isFlagged: Bool
        let priority: Int
        let score: Double
        let cost: Decimal?
        let link: URL?
        let identifier: UUID
        let folder: Int?
        let tags: [String]
        let attachments: [(name: String, size: Int)]

        init(_ number: Int) {
            let subjects: [String?] = [
                "Invoice 12", "Re: Straße", "café menu", nil, "", "Weekly report", "re: INVOICE", "影武者",
            ]
            let senders = ["anna@example.com", "Bob@Example.com", "carol@test.org", "österreich@mail.at"]
            uid = number
            subject = subjects[number % subjects.count]
            sender = senders[number / 2 % senders.count]
            body = number % 3 == 0 ? "please pay" : "hello\nworld \(number)"
            sent = Date(timeIntervalSinceReferenceDate: Double(number) * 43_200)
            isRead = number % 2 == 0
            isFlagged = number % 5 == 0
            priority = number % 4 - 1
            score = Double(number) / 10
            cost = number % 6 == 0 ? nil : Decimal(number) / 10
            link = number % 3 == 2 ? nil : URL(string: "https://example.com/m/\(number)?q=A#top")
            identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, UInt8(number)))
            folder = number % 7 == 6 ? nil : number % 3
            tags = (0..<number % 4).map { ["work", "Home", "urgent"][$0] }
            attachments = (0..<number % 3).map { ("file\($0).\($0 == 0 ? "pdf" : "PNG")", number * 100 + $0) }
        }
    }

    static let folderNames = ["Inbox", "Archive", "Trash"]
    let messages = (0..<24).map { Message($0) }

    static let model = Model(entities: [
        Entity(
            "Folder", [AttributeDescription("name", .string), AttributeDescription("position", .integer)],
            relationships: [
                RelationshipDescription("messages", toMany: "Message", inverse: "folder"),
                RelationshipDescription("parent", toOne: "Folder", inverse: "children"),
                RelationshipDescription("children", toMany: "Folder", inverse: "parent"),
            ]),
        Entity(
            "Message",
            [
                AttributeDescription("uid", .integer, isUnique: true), AttributeDescription("subject", .string),
                AttributeDescription("sender", .string), AttributeDescription("body", .string),
                AttributeDescription("sent", .date), AttributeDescription("isRead", .boolean),
                AttributeDescription("isFlagged", .boolean), AttributeDescription("priority", .integer),
                AttributeDescription("score", .double), AttributeDescription("cost", .decimal),
                AttributeDescription("link", .url), AttributeDescription("identifier", .uuid, isUnique: true),
            ],
            relationships: [
                RelationshipDescription("folder", toOne: "Folder", inverse: "messages"),
                RelationshipDescription("tags", toMany: "Tag", inverse: "messages"),
                RelationshipDescription("attachments", toMany: "Attachment", inverse: "message"),
            ]),
        Entity(
            "Tag", [AttributeDescription("name", .string, isUnique: true)],
            relationships: [RelationshipDescription("messages", toMany: "Message", inverse: "tags")]),
        Entity(
            "Attachment", [AttributeDescription("name", .string), AttributeDescription("size", .integer)],
            relationships: [RelationshipDescription("message", toOne: "Message", inverse: "attachments")]),
    ])

    let store: LiveStore
    let context: ManagedObjectContext
    let objects: [ManagedObject]
    let folders: [ManagedObject]

    init() throws {
        store = try LiveStore(Self.model)
        context = store.container.newContext()
        var folders: [ManagedObject] = []
        for (position, name) in Self.folderNames.enumerated() {
            let folder = try context.insert("Folder")
            folder["name"] = .string(name)
            folder["position"] = .integer(Int64(position))
            if let parent = folders.last { folder.relate("parent", to: parent) }
            folders.append(folder)
        }
        var tags: [String: ManagedObject] = [:]
        for name in ["work", "Home", "urgent"] {
            tags[name] = try context.insert("Tag")
            tags[name]?["name"] = .string(name)
        }
        var objects: [ManagedObject] = []
        for message in messages {
            let object = try context.insert("Message")
            let values: [(String, Value)] = [
                ("uid", .integer(Int64(message.uid))), ("subject", message.subject.map(Value.string) ?? .null),
                ("sender", .string(message.sender)), ("body", .string(message.body)), ("sent", .date(message.sent)),
                ("isRead", .boolean(message.isRead)), ("isFlagged", .boolean(message.isFlagged)),
                ("priority", .integer(Int64(message.priority))), ("score", .double(message.score)),
                ("cost", message.cost.map(Value.decimal) ?? .null), ("link", message.link.map(Value.url) ?? .null),
                ("identifier", .uuid(message.identifier)),
            ]
            for (name, value) in values { object[name] = value }
            object.relate("folder", to: message.folder.map { folders[$0] })
            for name in message.tags {
                if let tag = tags[name] { object.relatedObjects("tags").insert(tag) }
            }
            for attachment in message.attachments {
                let part = try context.insert("Attachment")
                part["name"] = .string(attachment.name)
                part["size"] = .integer(Int64(attachment.size))
                part.relate("message", to: object)
            }
            objects.append(object)
        }
        try context.save()
        (self.objects, self.folders) = (objects, folders)
    }
}
