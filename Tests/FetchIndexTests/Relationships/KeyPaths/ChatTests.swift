import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

final class Chat: ManagedObject {
    @Attribute("topic") var topic: String
    @Relationship("messages", inverse: "conversation", deleteRule: .cascade) var messages: Related<ChatMessage>
}

final class ChatMessage: ManagedObject {
    @Attribute("text") var text: String
    @Attribute("sentAt") var sentAt: Date
    @Relationship("conversation", inverse: "messages", isRequired: true) var conversation: Chat?
}

/// The chats of a messenger, sorted by their last messages: sort keys that are aggregates of related objects.
@Suite struct ChatTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Chat.self, ChatMessage.self))
        context = store.container.newContext()
        for (number, topic) in ["朝", "昼", "夜"].enumerated() {
            let conversation = Chat(context: context)
            conversation.topic = topic
            for index in 0..<2 { send("\(topic)\(index)", at: 10 * number + index, in: conversation, context) }
        }
        let silent = Chat(context: context)
        silent.topic = "無言"
        try context.save()
    }

    @discardableResult
    private func send(
        _ text: String, at seconds: Int, in conversation: Chat, _ context: ManagedObjectContext
    ) -> ChatMessage {
        let message = ChatMessage(context: context)
        message.text = text
        message.sentAt = Date(timeIntervalSinceReferenceDate: Double(seconds))
        message.conversation = conversation
        return message
    }

    private func controller(_ cacheName: String?, _ sort: String) throws -> FetchedResultsController<Chat> {
        let request = FetchRequest<Chat>(sortKeys: try SortKey.list(parsing: sort))
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, cacheName: cacheName)
        try controller.performFetch()
        return controller
    }

    private func topics(_ controller: FetchedResultsController<Chat>) -> [String] {
        controller.fetchedObjects?.map(\.topic) ?? []
    }

    @Test(arguments: [nil, "conversations"]) func aNewMessageMovesItsChatToTheTop(cacheName: String?) throws {
        let controller = try controller(cacheName, "messages.@max.sentAt:desc")
        #expect(topics(controller) == ["夜", "昼", "朝", "無言"])
        let listener = Recorder<Chat>(\.topic)
        controller.delegate = listener
        let morning = controller.object(at: RowPath(section: 0, row: 2))
        let message = send("おはよう", at: 100, in: morning, context)
        try context.save()
        #expect(topics(controller) == ["朝", "夜", "昼", "無言"])
        #expect(
            listener.take() == ["will change", "朝 move 0.2 0.0", "did change"])
        // Deleting the last message moves the chat back. Moving all messages of another chat into it moves both chats.
        context.delete(message)
        try context.save()
        #expect(topics(controller) == ["夜", "昼", "朝", "無言"])
        let night = controller.object(at: RowPath(section: 0, row: 0))
        for message in Array(night.messages) { message.conversation = morning }
        try context.save()
        #expect(topics(controller) == ["朝", "昼", "夜", "無言"])
        if let cacheName { #expect(try store.container.verifyCache(cacheName) == []) }
    }

    @Test func aMessageOfAnotherContextReordersTheChats() throws {
        let controller = try controller("conversations", "messages.@max.sentAt:desc")
        let other = store.container.newContext()
        let noon = try #require(
            try other.fetch(FetchRequest<Chat>(sortKeys: [])).first { $0.topic == "昼" })
        send("もしもし", at: 50, in: noon, other)
        try other.save()
        try context.mergeChanges()
        #expect(topics(controller) == ["昼", "夜", "朝", "無言"])
        #expect(try store.container.verifyCache("conversations") == [])
    }

    @Test func ordersMaySortByCountsMinimaAndAverages() throws {
        let morning = try #require(
            try context.fetch(FetchRequest<Chat>(sortKeys: [])).first { $0.topic == "朝" })
        send("三", at: 3, in: morning, context)
        try context.save()
        // The order by code points is 三, 夜, 昼.
        #expect(topics(try controller(nil, "messages.@count:desc,topic")) == ["朝", "夜", "昼", "無言"])
        #expect(topics(try controller(nil, "messages.@min.text")) == ["無言", "朝", "夜", "昼"])
        #expect(topics(try controller("latest", "messages.@avg.sentAt,messages.@max.text")).first == "無言")
    }

    @Test(arguments: [
        "messages.@max", "messages.@max.nothing", "messages.@most.sentAt", "topic.@max.sentAt", "messages.@sum.text",
    ])
    func invalidAggregatesAreRefused(sort: String) throws {
        #expect(throws: (any Error).self) { try controller(nil, sort) }
    }
}
