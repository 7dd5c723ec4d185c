import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

// The example of unread counts in the article "Sections", word for word.

final class Mail: ManagedObject {
    @Attribute("subject") var subject: String
    @Attribute("sender") var sender: String
    @Attribute("isRead") var isRead = false
    @Attribute("unread", derivedBy: "TERNARY(isRead == YES, 0, 1)") var unread: Int?
}

@Suite struct UnreadSnippets {
    @Test func theExampleOfUnreadCountsWorksAsDocumented() throws {
        let container = try PersistentContainer(temporaryWith: Model(Mail.self))
        let context = container.newContext()
        for (subject, sender, isRead) in [("a", "x", false), ("b", "x", true), ("c", "x", false), ("d", "y", true)] {
            let mail = Mail(context: context)
            (mail.subject, mail.sender, mail.isRead) = (subject, sender, isRead)
        }
        try context.save()
        var request = FetchRequest<Mail>(sortKeys: [SortKey(\.subject)])
        request.aggregates = [.sum(\.unread)]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("sender"), cacheName: "inbox")
        try controller.performFetch()
        for section in controller.sections { print(section.name, section.count, section.aggregate(.sum(\.unread))) }
        func counts() -> [Value] { controller.sections.map { $0.aggregate(.sum(\.unread)) } }
        #expect(counts() == [.integer(2), .integer(0)])
        // Unsaved values count too.
        controller.object(at: RowPath(section: 0, row: 0)).isRead = true
        context.processPendingChanges()
        #expect(counts() == [.integer(1), .integer(0)])
        try context.save()
        #expect(counts() == [.integer(1), .integer(0)])
    }
}
