import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Formats like those in apps. Each is compared with a plain closure in fetches, in counts and on single objects, and
/// must read back from its canonical form.
@Suite struct AppFormatTests {
    private let mail: MailStore
    private typealias Message = MailStore.Message

    init() throws { mail = try MailStore() }

    private func check(
        _ format: String, _ arguments: any PredicateArgument..., location: SourceLocation = #_sourceLocation,
        holds: (Message) -> Bool
    ) {
        let expected = mail.messages.filter(holds).map(\.uid)
        do {
            let predicate = try FetchPredicate(format: format, argumentArray: arguments)
            #expect(try found(predicate) == expected, "\(format)", sourceLocation: location)
            let single = try mail.objects.filter { try predicate.evaluate(with: $0) }
            #expect(single.map { uid(of: $0) } == expected, "\(format), on objects", sourceLocation: location)
            let again = try FetchPredicate(predicate.description)
            #expect(again == predicate, "\(format)", sourceLocation: location)
        } catch {
            Issue.record("\(format): \(error)", sourceLocation: location)
        }
    }

    private func uid(of object: ManagedObject) -> Int { Int(object["uid"].integerValue ?? -1) }

    private func found(_ predicate: FetchPredicate) throws -> [Int] {
        var request = FetchRequest<ManagedObject>(entityName: "Message")
        request.predicate = predicate
        request.sortKeys = [SortKey("uid")]
        let found = try mail.context.fetch(request)
        #expect(try mail.context.count(for: request) == found.count)
        return found.map { uid(of: $0) }
    }

    private func folder(of message: Message) -> String? { message.folder.map { MailStore.folderNames[$0] } }
    private func lowered(_ text: String?) -> String { text?.lowercased() ?? "" }
    private func day(_ number: Double) -> Date { Date(timeIntervalSinceReferenceDate: number * 86_400) }

    @Test func formatsOfFlagsAndNumbersAgreeWithClosures() {
        check("isRead == NO") { !$0.isRead }
        check("isRead = 0") { !$0.isRead }
        check("isRead == false") { !$0.isRead }
        check("isRead == FALSE AND isFlagged == TRUE") { !$0.isRead && $0.isFlagged }
        check("isRead == %@", false) { !$0.isRead }
        check("isRead == %d", 1) { $0.isRead }
        check("isRead != YES") { !$0.isRead }
        check("NOT isRead == YES") { !$0.isRead }
        check("NOT (isRead == YES)") { !$0.isRead }
        check("!(isRead == YES OR isFlagged == YES)") { !$0.isRead && !$0.isFlagged }
        check("(isRead == 0) && (isFlagged == 1)") { !$0.isRead && $0.isFlagged }
        check("%K == %@", "isFlagged", true) { $0.isFlagged }
        check("%K == YES AND %K > %ld", "isFlagged", "uid", 5) { $0.isFlagged && $0.uid > 5 }
        check("uid == %d", 7) { $0.uid == 7 }
        check("uid = %i", 7) { $0.uid == 7 }
        check("uid == %ld", 7) { $0.uid == 7 }
        check("uid == %lld", 7) { $0.uid == 7 }
        check("uid == %lu", 7) { $0.uid == 7 }
        check("uid == %llu", 7) { $0.uid == 7 }
        check("uid == %hd OR uid == %hhd", 7, 8) { (7...8).contains($0.uid) }
        check("uid == %hu OR uid == %hhu", 7, 8) { (7...8).contains($0.uid) }
        check("uid == %qd OR uid == %qu", 7, 8) { (7...8).contains($0.uid) }
        check("uid == %zd OR uid == %zu", 7, 8) { (7...8).contains($0.uid) }
        check("uid == %td OR uid == %jd", 7, 8) { (7...8).contains($0.uid) }
        check("uid == %x OR uid == %X OR uid == %o", 7, 8, 9) { (7...9).contains($0.uid) }
        check("uid == %D OR uid == %U", 7, 8) { (7...8).contains($0.uid) }
        check("score == %f", 0.7) { $0.score == 0.7 }
        check("score == %lf", 0.7) { $0.score == 0.7 }
        check("score == %Lf", 0.7) { $0.score == 0.7 }
        check("score == %a", 0.7) { $0.score == 0.7 }
        check("score == %la", 0.7) { $0.score == 0.7 }
        check("score > %g AND score < %e", 0.7, 1.2) { $0.score > 0.7 && $0.score < 1.2 }
        check("score >= %lg AND score <= %G", 0.7, 1.2) { $0.score >= 0.7 && $0.score <= 1.2 }
        check("priority >= 0 AND priority < 2") { $0.priority >= 0 && $0.priority < 2 }
        check("priority BETWEEN {0, 1}") { (0...1).contains($0.priority) }
        check("priority BETWEEN %@", [0, 1]) { (0...1).contains($0.priority) }
        check("priority BETWEEN {%d, %d}", 0, 1) { (0...1).contains($0.priority) }
        check("priority IN {-1, 2}") { $0.priority == -1 || $0.priority == 2 }
        check("priority IN %@", [-1, 2]) { $0.priority == -1 || $0.priority == 2 }
        check("NOT priority IN %@", [-1, 2]) { $0.priority != -1 && $0.priority != 2 }
        check("NOT (priority IN %@)", [-1, 2]) { $0.priority != -1 && $0.priority != 2 }
        check("uid IN %@", Set([1, 3, 99])) { [1, 3].contains($0.uid) }
        check("uid IN %@", [Int]()) { _ in false }
        check("(uid & 4) != 0") { $0.uid & 4 != 0 }
        check("(uid & %d) == %d", 5, 5) { $0.uid & 5 == 5 }
        check("uid - 1 == 6") { $0.uid == 7 }
        check("uid * 2 > 40") { $0.uid > 20 }
        check("modulus:by:(uid, 3) == 0") { $0.uid % 3 == 0 }
        check("abs:(priority) == 1") { abs($0.priority) == 1 }
        check("uid == 0x07 OR uid == 1e1") { $0.uid == 7 || $0.uid == 10 }
        check("0 < priority") { $0.priority > 0 }
        check("uid > 3 and uid < 6 or uid == 20") { $0.uid > 3 && $0.uid < 6 || $0.uid == 20 }
        check("uid >= 3 && (uid <= 6 || uid == 20)") { $0.uid >= 3 && ($0.uid <= 6 || $0.uid == 20) }
        check("TRUEPREDICATE") { _ in true }
        check("FALSEPREDICATE") { _ in false }
        check("uid == 3 AND TRUEPREDICATE") { $0.uid == 3 }
        check("1 == 1") { _ in true }
    }

    @Test func formatsOfMoneyAgreeWithClosures() {
        check("cost == %@", Decimal(string: "0.7") ?? 0) { $0.uid == 7 }
        check("cost == 0.7") { $0.uid == 7 }
        check("cost + 0.1 == 0.8") { $0.uid == 7 }
        check("cost + %f == %f", 0.2, 0.3) { $0.uid == 1 }
        check("cost * 3 == 0.3") { $0.uid == 1 }
        check("cost * 1.19 > 2.5") { $0.cost.map { $0 * 119 / 100 > Decimal(string: "2.5") ?? 0 } ?? false }
        check("cost - 0.1 IN {0.2, 0.4}") { $0.uid == 3 || $0.uid == 5 }
        check("cost BETWEEN {0.1 + 0.2, 0.7}") { $0.cost != nil && (3...7).contains($0.uid) }
        check("cost == nil") { $0.cost == nil }
        check("cost != nil AND cost < 0.5") { $0.cost != nil && $0.uid < 5 }
        check("cost == score") { $0.cost != nil }
        check("score + 0.1 == 0.3") { $0.score + 0.1 == 0.3 }
    }

    @Test func formatsOfTextsAgreeWithClosures() {
        check("subject CONTAINS %@", "o") { $0.subject?.contains("o") ?? false }
        check("subject CONTAINS[c] %@", "INVOICE") { lowered($0.subject).contains("invoice") }
        check("subject CONTAINS[cd] %@", "CAFE") { $0.subject == "café menu" }
        check("subject contains[cd] 'straße'") { $0.subject == "Re: Straße" }
        check("subject BEGINSWITH[c] 're:'") { lowered($0.subject).hasPrefix("re:") }
        check("subject BEGINSWITH %@", "Re:") { $0.subject?.hasPrefix("Re:") ?? false }
        check("subject ENDSWITH[cd] %@", "MENU") { $0.subject == "café menu" }
        check("subject LIKE '*report'") { $0.subject == "Weekly report" }
        check("subject LIKE[c] '*INVOICE*'") { lowered($0.subject).contains("invoice") }
        check("subject LIKE[c] %@", "re: stra?e") { $0.subject == "Re: Straße" }
        check("subject LIKE[cd] 'caf? *'") { $0.subject == "café menu" }
        check("subject LIKE '?武?'") { $0.subject == "影武者" }
        check("subject MATCHES '.*[0-9]+'") { $0.subject == "Invoice 12" }
        check("subject MATCHES[c] %@", "(re: )?invoice.*") { lowered($0.subject).contains("invoice") }
        check("subject == nil") { $0.subject == nil }
        check("subject == NULL OR subject == ''") { $0.subject?.isEmpty ?? true }
        check("subject = nil OR subject.length = 0") { $0.subject?.isEmpty ?? true }
        check("subject != nil") { $0.subject != nil }
        check("subject != %@", "Invoice 12") { $0.subject != "Invoice 12" }
        check("subject <> ''") { $0.subject != "" }
        check("subject.length > 10") { $0.subject?.utf16.count ?? 0 > 10 }
        check("length:(subject) == 3") { $0.subject == "影武者" }
        check("subject ==[c] 'INVOICE 12'") { $0.subject == "Invoice 12" }
        check("subject ==[cd] %@", "CAFÉ MENU") { $0.subject == "café menu" }
        check("subject IN {'Invoice 12', 'Weekly report'}") { ["Invoice 12", "Weekly report"].contains($0.subject) }
        check("subject IN[c] %@", ["INVOICE 12"]) { $0.subject == "Invoice 12" }
        check("subject >= 'W' AND subject < 'X'") { $0.subject == "Weekly report" }
        check("lowercase:(subject) == 'weekly report'") { $0.subject == "Weekly report" }
        check("uppercase:(subject) BEGINSWITH 'W'") { $0.subject == "Weekly report" }
        check("sender ENDSWITH[c] %@", "@example.com") { lowered($0.sender).hasSuffix("@example.com") }
        check("sender CONTAINS[cd] 'osterreich'") { $0.sender.hasPrefix("öst") }
        check("sender MATCHES '[a-z]+@[a-z]+\\\\.org'") { $0.sender == "carol@test.org" }
        check("body CONTAINS '\\n'") { $0.body.contains("\n") }
        check("body CONTAINS[c] %@ OR subject CONTAINS[c] %@", "PAY", "report") {
            $0.body.contains("pay") || $0.subject == "Weekly report"
        }
        check("(subject CONTAINS[cd] %@) OR (sender CONTAINS[cd] %@) OR (body CONTAINS[cd] %@)", "menu", "bob", "24") {
            $0.subject == "café menu" || $0.sender.hasPrefix("Bob") || $0.body.contains("24")
        }
        check("%K CONTAINS[cd] %@", "subject", "weekly") { $0.subject == "Weekly report" }
        check("%K ==[c] %s", "subject", "weekly REPORT") { $0.subject == "Weekly report" }
        check("%@ CONTAINS subject", "my Invoice 12!") { $0.subject == "Invoice 12" }
        check("'Week' IN subject") { $0.subject == "Weekly report" }
        check("\"it's\" != subject") { $0.subject != "it's" }
        check("TERNARY(subject == nil, '-', subject) BEGINSWITH '-'") { $0.subject == nil }
    }

    @Test func formatsOfDatesURLsAndIdentifiersAgreeWithClosures() throws {
        check("sent >= %@ AND sent < %@", day(2), day(4)) { $0.sent >= day(2) && $0.sent < day(4) }
        check("(sent >= %@) AND (sent <= %@)", day(2), day(4)) { $0.sent >= day(2) && $0.sent <= day(4) }
        check("sent BETWEEN {%@, %@}", day(2), day(4)) { $0.sent >= day(2) && $0.sent <= day(4) }
        check("sent BETWEEN %@", [day(2), day(4)]) { $0.sent >= day(2) && $0.sent <= day(4) }
        check("sent == %@", day(3)) { $0.uid == 6 }
        check("sent != nil") { _ in true }
        check("sent < now()") { _ in true }
        check("sent > CAST(86400, 'NSDate')") { $0.sent > day(1) }
        check("sent >= CAST('2001-01-02', 'date')") { $0.sent >= day(1) }
        check("sent + 86400 > %@", day(10)) { $0.sent > day(9) }
        check("sent - %@ > 86400", day(2)) { $0.sent > day(3) }
        check("link CONTAINS 'example'") { $0.link != nil }
        check("link CONTAINS[c] %@", "EXAMPLE.COM/M/1?") { $0.uid == 1 }
        check("link BEGINSWITH 'https://example.com/m/1'") { $0.link != nil && "\($0.uid)".hasPrefix("1") }
        check("link ENDSWITH '#top'") { $0.link != nil }
        check("link LIKE '*/m/?\\\\?*'") { $0.link != nil && $0.uid < 10 }
        check("link MATCHES %@", ".*/m/[0-9][0-9].q=A#top") { $0.link != nil && $0.uid > 9 }
        check("link == %@", try #require(mail.messages[4].link)) { $0.uid == 4 }
        check("link == %@", "https://example.com/m/4?q=A#top") { $0.uid == 4 }
        check("link ==[c] %@", "HTTPS://example.com/m/4?q=a#top") { $0.uid == 4 }
        check("link != %@", try #require(mail.messages[4].link)) { $0.uid != 4 }
        check("link IN %@", [try #require(mail.messages[4].link)]) { $0.uid == 4 }
        check("'/m/4?' IN link") { $0.uid == 4 }
        check("link == nil OR NOT link CONTAINS 'm/1'") { $0.link == nil || !"\($0.uid)".hasPrefix("1") }
        check("link.absoluteString CONTAINS 'm/1'") { $0.link != nil && "\($0.uid)".hasPrefix("1") }
        check("link.host == 'example.com'") { $0.link != nil }
        check("link.lastPathComponent == '4'") { $0.uid == 4 }
        check("link.scheme ==[c] 'HTTPS' AND link.fragment == 'top'") { $0.link != nil }
        check("lowercase:(link) CONTAINS 'q=a'") { $0.link != nil }
        check("identifier == %@", mail.messages[5].identifier) { $0.uid == 5 }
        check("identifier == %@", mail.messages[5].identifier.uuidString) { $0.uid == 5 }
        check("identifier IN %@", mail.messages.prefix(3).map(\.identifier)) { $0.uid < 3 }
        check("identifier != %@ AND uid < 3", mail.messages[1].identifier) { $0.uid == 0 || $0.uid == 2 }
    }

    @Test func formatsOfRelatedObjectsAgreeWithClosures() throws {
        let inbox = mail.folders[0].objectID
        check("folder == %@", inbox) { $0.folder == 0 }
        check("folder = %@ AND isRead = NO", inbox) { $0.folder == 0 && !$0.isRead }
        check("folder != %@", inbox) { $0.folder != 0 }
        check("folder IN %@", mail.folders.prefix(2).map(\.objectID)) { $0.folder == 0 || $0.folder == 1 }
        check("NOT folder IN %@", [inbox]) { $0.folder != 0 }
        check("folder == nil") { $0.folder == nil }
        check("folder != nil AND folder.name != 'Inbox'") { $0.folder != nil && $0.folder != 0 }
        check("folder.name == %@", "Archive") { $0.folder == 1 }
        check("%K == %@", "folder.name", "Archive") { $0.folder == 1 }
        check("%K.name == %@", "folder", "Archive") { $0.folder == 1 }
        check("folder.name ==[c] 'TRASH'") { $0.folder == 2 }
        check("folder.name IN %@", ["Inbox", "Trash"]) { $0.folder == 0 || $0.folder == 2 }
        check("folder.parent == nil") { $0.folder == 0 || $0.folder == nil }
        check("folder.parent.name == 'Inbox'") { $0.folder == 1 }
        check("folder.parent == %@", inbox) { $0.folder == 1 }
        check("folder.position + 1 == 2") { $0.folder == 1 }
        check("folder.position == uid") { $0.folder == $0.uid }
        check("tags.@count == 0") { $0.tags.isEmpty }
        check("tags.@count > %d", 1) { $0.tags.count > 1 }
        check("ANY tags.name == 'Home'") { $0.tags.contains("Home") }
        check("ANY tags.name == %@ OR ANY tags.name == %@", "Home", "urgent") { $0.tags.count > 1 }
        check("ANY tags.name IN %@", ["Home", "urgent"]) { $0.tags.count > 1 }
        check("ANY tags.name CONTAINS[cd] %@", "HOM") { $0.tags.contains("Home") }
        check("SOME tags.name BEGINSWITH 'w'") { $0.tags.contains("work") }
        check("NONE tags.name == 'Home'") { !$0.tags.contains("Home") }
        check("NOT (ANY tags.name == 'Home')") { !$0.tags.contains("Home") }
        check("ALL tags.name != 'Home'") { !$0.tags.contains("Home") }
        check("ALL tags.name == 'work' AND tags.@count == 1") { $0.tags == ["work"] }
        check("'Home' IN tags.name") { $0.tags.contains("Home") }
        check("tags.name CONTAINS 'Home'") { $0.tags.contains("Home") }
        check("attachments.@count != 0") { !$0.attachments.isEmpty }
        check("attachments.@sum.size > 1500") { $0.attachments.map(\.size).reduce(0, +) > 1500 }
        check("attachments.@max.size >= %d", 2000) { $0.attachments.map(\.size).max() ?? 0 >= 2000 }
        check("attachments.@min.size < 500") { $0.attachments.map(\.size).min() ?? 500 < 500 }
        check("attachments.@avg.size > 1000") {
            Double($0.attachments.map(\.size).reduce(0, +)) > 1000 * Double($0.attachments.count)
        }
        check("ANY attachments.name ENDSWITH[c] '.png'") { $0.attachments.count > 1 }
        check("ANY attachments.size > %ld", 1500) { $0.attachments.contains { $0.size > 1500 } }
        check("SUBQUERY(attachments, $a, $a.size > 1500 AND $a.name ENDSWITH 'pdf').@count > 0") {
            $0.attachments.contains { $0.size > 1500 && $0.name.hasSuffix("pdf") }
        }
        check("SUBQUERY(attachments, $x, $x.name == %@).@count == 0", "file1.PNG") { $0.attachments.count < 2 }
        check("SUBQUERY(tags, $t, $t.name IN %@).@count == %d", ["work", "Home"], 2) { $0.tags.count > 1 }
        check("SUBQUERY(attachments, $a, $a.message == SELF).@count == 2") { $0.attachments.count == 2 }
        check("SUBQUERY(folder.messages, $m, $m != SELF AND $m.isFlagged == YES).@count > 1") { message in
            mail.messages.filter {
                $0.folder != nil && $0.folder == message.folder && $0.uid != message.uid && $0.isFlagged
            }.count > 1
        }
    }

    @Test func formatsOfSelfAndArgumentsAgreeWithClosures() throws {
        let some = [3, 5, 8].map { mail.objects[$0].objectID }
        check("SELF IN %@", some) { [3, 5, 8].contains($0.uid) }
        check("self in %@ and isRead == YES", some) { $0.uid == 8 }
        check("NOT (SELF IN %@)", some) { ![3, 5, 8].contains($0.uid) }
        check("SELF == %@", some[0]) { $0.uid == 3 }
        check("self != %@", some[0]) { $0.uid != 3 }
        check("objectID == %@", some[0]) { $0.uid == 3 }
        check("entity.name == 'Message' AND uid < 2") { $0.uid < 2 }
        check("self.entity.name == %@", "Folder") { _ in false }
        check("entity == %@ AND uid == 1", try #require(MailStore.model.entity(named: "Message"))) { $0.uid == 1 }
        check("SELF.uid == 4") { $0.uid == 4 }
        check("%@ == folder", mail.folders[0].objectID) { $0.folder == 0 }
        let choice: PredicateValue = [
            "wanted": ["uids": [1, 2, 3], "name": "Archive"], "rules": [["tag": "Home"], ["tag": "urgent"]],
        ]
        check("uid IN %@.wanted.uids", choice) { (1...3).contains($0.uid) }
        check("folder.name == %@.wanted.name", choice) { $0.folder == 1 }
        check("ANY tags.name IN %@.rules.tag", choice) { $0.tags.count > 1 }
        check("uid == %@.rules.@count", choice) { $0.uid == 2 }
        check("uid == %@.wanted.uids.@max.self", choice) { $0.uid == 3 }
        check("uid == %@.length", "four") { $0.uid == 4 }
        check("ANY %@.wanted.uids == uid", choice) { (1...3).contains($0.uid) }
        check("uid IN %@.uids", ["uids": [4, 5]]) { (4...5).contains($0.uid) }
        for format in ["uid IN %@.nothing.uids", "uid == %@.wanted", "uid IN %@"] {
            #expect(throws: FetchPredicateError.self, "\(format)") {
                try FetchPredicate(format, "text") == FetchPredicate(format, choice)
            }
        }
    }
}
