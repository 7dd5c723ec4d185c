import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Object numbers in a backup and its original. Once the backup has numbered a new object itself, the two share only
/// earlier numbers.
@Suite struct BackupNumberTests {
    private let books: BookStores
    private var tool: Tool { books.tool }

    init() throws { books = try BookStores() }

    @Test func aBackupAndItsOriginalAssignNumbersIndependently() throws {
        let backup = tool.store + " backup"
        try books.make(tool.store, ["a", "b"], author: "ann")
        #expect(try tool.run("backup", tool.store, backup).status == 0)
        let identifiers = try [tool.store, backup].map { try PersistentContainer(path: $0).storeIdentifier }
        #expect(identifiers[0] != nil && identifiers[1] != nil && identifiers[0] != identifiers[1])
        // Until one of the two stores assigns a number, an import of the other store's export changes nothing.
        #expect(try books.put(tool.store, books.export(backup)).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try books.put(backup, books.export(tool.store)).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try books.put(tool.store, tool.file("c.csv", "isbn,title\nc,C\n"), "--key", "isbn").status == 0)
        #expect(try books.put(backup, tool.file("d.csv", "isbn,title\nd,D\n"), "--key", "isbn").status == 0)
        let refusal = "3 is the number of an object in another store"
        #expect(try books.put(backup, books.export(tool.store)).error.contains("line 3, column 1 (@id): \(refusal)"))
        #expect(
            try books.put(tool.store, books.export(backup)).error.contains("line 1, column 1 (@id): 1 is the number of")
        )
        #expect(try books.sequels(tool.store) == ["a A b", "b B", "c C"])
        #expect(try books.sequels(backup) == ["a A b", "b B", "d D"])
        // An export names the store whose numbers it has.
        let authors = try tool.run("export", tool.store, "--entity", "Author").output
        #expect(authors.contains(identifiers[0]?.uuidString ?? "?"), "\(authors)")
        for store in [tool.store, backup] { #expect(try tool.run("check", store).output.contains("whole")) }
        // A backup of the backup shares all numbers of the backup, but not the original's number 3.
        let second = tool.store + " second"
        #expect(try tool.run("backup", backup, second).status == 0)
        #expect(try books.put(second, books.export(backup)).output.contains("0 inserted, 0 updated, 3 unchanged"))
        #expect(try books.put(second, books.export(tool.store)).error.contains("line 3, column 1 (@id): \(refusal)"))
    }

    @Test func aBackupImportsExportsOfItsOriginalUntilTheBackupNumbersNewObjects() throws {
        let backup = tool.store + " backup"
        try books.make(tool.store, ["a", "b"], author: "ann")
        #expect(try tool.run("backup", tool.store, backup).status == 0)
        func commit() throws -> Int? { try tool.run("info", backup, "--output", "json")["commit"] as? Int }
        let before = try commit()
        #expect(try books.put(backup, books.export(tool.store)).output.contains("0 inserted, 0 updated, 2 unchanged"))
        #expect(try commit() == before)
        for isbn in ["c", "d"] {
            try books.addAuthor(isbn)
            #expect(
                try books.put(tool.store, tool.file("n.csv", "isbn,title\n\(isbn),X\n"), "--key", "isbn").status == 0)
            #expect(try books.put(backup, books.export(tool.store)).output.contains("1 inserted"))
            let authors = try tool.run("import", backup, books.export(tool.store, "Author"), "--entity", "Author")
            #expect(authors.output.contains("1 inserted"), "\(authors.error)")
        }
        for entity in ["Author", "Book"] {
            let exports = try [tool.store, backup].map { try tool.run("export", $0, "--entity", entity).output }
            #expect(exports[0] == exports[1])
        }
        #expect(try books.put(backup, tool.file("o.csv", "isbn,title\nown,OWN\n"), "--key", "isbn").status == 0)
        #expect(try books.put(tool.store, tool.file("e.csv", "isbn,title\ne,E\n"), "--key", "isbn").status == 0)
        let refused = try books.put(backup, books.export(tool.store))
        #expect(refused.error.contains("5 is the number of an object in another store"), "\(refused.error)")
        #expect(try tool.run("check", backup).status == 0)
    }

    @Test func aBackupKeepsTheIDsOfTheObjectsThatItCopied() throws {
        let backup = tool.store + " backup"
        try books.make(tool.store, ["a"])
        #expect(try tool.run("backup", tool.store, backup).status == 0)
        func ids(_ store: String, adding isbn: String) throws -> [ObjectID] {
            let context = try PersistentContainer(path: store).newContext()
            try context.insert("Book")["isbn"] = .string(isbn)
            try context.save()
            return try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", sortKeys: [SortKey("isbn")])).map(
                \.objectID)
        }
        let (here, there) = (try ids(tool.store, adding: "b"), try ids(backup, adding: "c"))
        #expect(here[0] == there[0] && here[0].uriRepresentation == there[0].uriRepresentation)
        #expect(here[1].number == there[1].number && here[1] != there[1])
        let context = try PersistentContainer(path: backup).newContext()
        #expect(try context.existingObject(with: here[0])["isbn"] == "a")
        #expect(throws: ContextError.otherStore(here[1])) { try context.existingObject(with: here[1]) }
    }
}
