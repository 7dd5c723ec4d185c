import FetchIndex
import FetchIndexModels
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Foundation
import Testing

/// The description of the source is stored as JSON, whose names and values other versions must be able to read.
@Suite struct StoredFormTests {
    /// The JSON of one table, with its keys in the order in which the store writes them.
    private static func table(_ name: String, _ copy: (after: String, key: String, isCopied: Bool, replaces: Bool))
        -> String
    {
        let changedUntil = copy.after.isEmpty ? "" : "\"changedUntil\":\"\(copy.after)\","
        let copiedThrough = copy.key.isEmpty ? "" : "\"copiedThrough\":\"\(copy.key)\","
        return """
            {"asText":["tags"],\(changedUntil)"columns":[{"labels":["16401 red"],"mark":745,"modifier":-1,"name":"id","number":1,"type":23}],\
            "condition":"id < 9",\(copiedThrough)"entity":"E","file":16395,"filter":"(id < 9)","followsNewColumns":true,\
            "isCopied":\(copy.isCopied),"key":"id","name":"\(name)","number":16395,\
            "references":[{"column":"author_id","entity":"Author","relationship":"author"}],"replaces":\(copy.replaces),\
            "schema":"public","width":3}
            """
    }

    private static func source(_ tables: [String]) -> String {
        """
        {"address":"postgres://reader@host/db","consistentFrom":"16/B374D848","hasWaitingRows":true,"mark":"16400/746",\
        "ownsPublication":false,"ownsSlot":true,"publication":"mine","slot":"fetchindex_0123",\
        "systemIdentifier":"7301234567890123456","tables":[\(tables.joined(separator: ","))],"timeline":2,"way":"stream"}
        """
    }

    private static let states: [(text: String, state: CopyState)] = [
        (table("new", ("", "", false, false)), .new),
        (table("begun", ("", "k'7", false, false)), .due(.first(through: ["k'7"]), after: nil)),
        (
            table("changed", ("16/B374D848", "7", false, false)),
            .due(.first(through: ["7"]), after: LogPosition("16/B374D848"))
        ),
        (table("again", ("", "", false, true)), .due(.again, after: nil)),
        (table("later", ("0/1000", "", false, true)), .due(.again, after: LogPosition(0x1000))),
        (table("copied", ("", "", true, false)), .copied),
    ]

    @Test func storedSourcesAreReadAndWrittenWithTheSameBytes() throws {
        let text = Self.source(Self.states.map(\.text))
        let source = try JSONDecoder().decode(FollowedSource.self, from: Data(text.utf8))
        #expect(source.tables.map(\.copy) == Self.states.map(\.state))
        let table = try #require(source.tables.first)
        #expect(
            table.columns == [FollowedSource.Column(name: "id", number: 1, type: 23, mark: 745, labels: ["16401 red"])])
        #expect(table.references == [.init(columns: ["author_id"], relationship: "author", entity: "Author")])
        #expect(
            table.condition == "id < 9" && table.filter == "(id < 9)" && table.width == 3 && table.asText == ["tags"])
        #expect(source.way == .stream && source.timeline == 2 && source.hasWaitingRows && !source.isConsistent)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(String(decoding: try encoder.encode(source), as: UTF8.self) == text)
    }

    /// A key of several columns has names of its own, so that older programs refuse it.
    @Test func keysOfSeveralColumnsAreReadAndWrittenWithTheSameBytes() throws {
        let table = Self.table("lines", ("", "", false, false))
            .replacingOccurrences(of: "\"key\":\"id\"", with: "\"keys\":[\"order,\",\"line\"]")
            .replacingOccurrences(
                of: "\"entity\":\"E\"", with: "\"copiedThroughKeys\":[\"7\",\"a,b\"],\"entity\":\"E\""
            )
            .replacingOccurrences(of: "\"column\":\"author_id\"", with: "\"columns\":[\"a\",\"b\"]")
        let text = Self.source([table])
        let source = try JSONDecoder().decode(FollowedSource.self, from: Data(text.utf8))
        #expect(source.tables[0].key == ["order,", "line"] && source.tables[0].copy.key == ["7", "a,b"])
        #expect(source.tables[0].references[0].columns == ["a", "b"])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let written = String(decoding: try encoder.encode(source), as: UTF8.self)
        #expect(written == text)
    }

    /// Earlier versions also stored the last key of a further copy, which begins with the first row. The key must be
    /// ignored.
    @Test func aStoredKeyOfAFurtherCopyIsIgnored() throws {
        let text = Self.source([Self.table("t", ("", "7", false, true))])
        let source = try JSONDecoder().decode(FollowedSource.self, from: Data(text.utf8))
        #expect(source.tables[0].copy == .due(.again, after: nil))
    }

    @Test func aPositionThatCannotBeReadIsAnError() {
        let text = Self.source([Self.table("t", ("nowhere", "", false, false))])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(FollowedSource.self, from: Data(text.utf8)) }
    }

    @Test func aStoreReturnsTheSourceThatItStored() throws {
        let folder = TemporaryFolder()
        let text = Self.source(Self.states.map(\.text))
        let source = try JSONDecoder().decode(FollowedSource.self, from: Data(text.utf8))
        do {
            let container = try PersistentContainer(at: URL(fileURLWithPath: folder.path), model: Model(entities: []))
            let writer = try KeyedRowWriter(in: container, author: "test", changesRecords: false)
            try writer.setFollowedSource(source, named: source.name)
            try writer.commit()
        }
        let container = try PersistentContainer(at: URL(fileURLWithPath: folder.path))
        #expect(try container.followedSource(as: FollowedSource.self) == source)
        let information = try container.information()
        #expect(information.sources.first?.tables.map(\.isCopied) == [false, false, false, false, false, true])
        #expect(information.sources.first?.isConsistent == false)
    }
}

/// The states of a table's copy.
@Suite struct CopyStateTests {
    @Test func aFirstCopyGoesOnAfterItsLastKey() {
        var state = CopyState.new
        #expect(!state.hasBegun && state.key == nil && !state.replaces)
        state.advance(through: ["7"])
        #expect(state == .due(.first(through: ["7"]), after: nil) && state.hasBegun && state.key == ["7"])
    }

    @Test func aFurtherCopyBeginsWithTheFirstRowAndDeletesRowsThatAreGone() {
        for begun in [CopyState.new, .due(.first(through: ["7"]), after: nil), .copied] {
            var state = begun
            state.requireCopy()
            state.advance(through: ["9"])
            #expect(state == .due(.again, after: nil) && state.replaces && state.key == nil)
        }
    }

    @Test func aCopyWaitsForThePositionOfAChange() {
        var state = CopyState.due(.first(through: ["7"]), after: nil)
        state.wait(after: LogPosition(5))
        state.requireCopy()
        #expect(state == .due(.again, after: LogPosition(5)))
        state.wait(after: nil)
        #expect(state == .due(.again, after: nil))
        state = .copied
        state.wait(after: LogPosition(5))
        #expect(state == .copied)
    }
}
