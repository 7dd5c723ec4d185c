import FetchIndex
import FetchIndexCatalogues
import FetchIndexTestSupport
import Foundation
import Testing

/// Imports without the tool. The errors say what is wrong, but don't suggest commands or options.
@Suite struct CatalogueImportTests {
    private let folder = TemporaryFolder()
    private let store: String

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        store = folder.path + "/store"
    }

    private func request(_ text: String, _ entity: String = "Book", key: String? = nil) throws -> ImportRequest {
        let file = folder.path + "/\(UUID().uuidString).csv"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        var request = ImportRequest(store: store, files: [file], format: .csv, entity: entity)
        request.key = key
        return request
    }

    @discardableResult
    private func imported(_ request: ImportRequest) throws -> CatalogueImport.Outcome {
        try CatalogueImport(request).run { _, _ in }
    }

    /// Returns the error of an import.
    private func error(of request: ImportRequest) -> any Error {
        do { try imported(request) } catch { return error }
        struct NoError: Error {}
        return NoError()
    }

    @Test func insertedUpdatedUnchangedAndDeletedRowsAreCounted() throws {
        let first = try imported(request("code,title\n1,a\n2,b\n3,c\n", key: "code"))
        #expect(first.counts.inserted == 3 && first.commit > 0 && first.deletedCount == nil)
        var second = try request("code,title\n1,a\n2,x\n4,d\n", key: "code")
        second.mostDeleted = 50
        let outcome = try imported(second)
        let counts = outcome.counts
        #expect(counts.inserted == 1 && counts.updated == 1 && counts.unchanged == 1 && outcome.deletedCount == 1)
    }

    @Test func badRowsAreSkippedOrStopTheImport() throws {
        var request = try request("code,title\n1,a\n2\n3,c\n")
        let stopped = try #require(error(of: request) as? ImportStopped)
        #expect("\(stopped.cause)".hasSuffix("line 3: it has 1 field, not 2"))
        guard case .rows(1, unlinked: 0) = stopped.saved else {
            Issue.record("\(stopped.saved)")
            return
        }
        request.skipsBadRows = true
        let outcome = try imported(request)
        #expect(outcome.bad.count == 1 && outcome.bad.listed.map(\.line) == [3] && outcome.counts.inserted == 2)
    }

    @Test func errorsNameNoOptionsOfTheTool() throws {
        try imported(request("code,title\n1,a\n2,b\n", key: "code"))
        let missing = try #require(error(of: request("code,pages\n1,2\n", key: "code")) as? BadInput)
        #expect(missing.remedy == .addColumns)
        var retyped = try request("code,title\n1,2\n", key: "code")
        retyped.types.named = [("title", .integer)]
        var related = try request("code,author\n1,x\n", key: "code")
        related.relations = [ImportRequest.Relation(column: "author", entity: "Author", attribute: "name")]
        var unique = try request("code,next\n1,x\n", "Page", key: "code")
        unique.relations = [ImportRequest.Relation(column: "next", entity: "Page", attribute: "name")]
        var replaced = try request("code,title\n9,a\n", key: "code")
        replaced.mostDeleted = 50
        var skipped = try request("code,title\n1\n2,b\n", key: "code")
        (skipped.mostDeleted, skipped.skipsBadRows) = (50, true)
        let texts = [retyped, related, unique, replaced, skipped].map { request in
            let error = error(of: request)
            #expect(error is ImportError, "\(error)")
            return "\(error)"
        }
        #expect(
            texts.dropLast() == [
                "Book.title is stored as string, not as integer",
                "Author is no entity of the store",
                "Page.name is not unique, so it cannot name objects",
                "the file lacks 2 of 2 objects, more than 50 per cent",
            ])
        #expect(texts.last?.hasPrefix("1 bad row skipped (") ?? false)
        #expect((texts + ["\(missing)"]).allSatisfy { !$0.contains("--") }, "\(texts)")
    }
}
