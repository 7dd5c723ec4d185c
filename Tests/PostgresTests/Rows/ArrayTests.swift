import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

@testable import FetchIndexPostgresSource

/// Arrays are stored as JSON.
@Suite struct ArrayTests {
    private func json(_ text: String, _ element: UInt32 = 25) -> String? {
        var text = text
        return text.withUTF8 { ArrayText.json(UnsafeRawBufferPointer($0), of: element) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func textsOfArraysBecomeJSON() {
        #expect(json("{}") == "[]" && json("{a,\"b c\",NULL,\"NULL\"}") == #"["a","b c",null,"NULL"]"#)
        #expect(json(#"{"a\"b\\c","{,}"}"#) == #"["a\"b\\c","{,}"]"#)
        #expect(json("{{1,2},{3,NULL}}", 23) == "[[1,2],[3,null]]" && json("[0:1]={7,8}", 20) == "[7,8]")
        #expect(json("{1.50,NaN,-2e10}", 701) == #"[1.50,"NaN",-2e10]"#)
        #expect(
            json("{x;y,z}") == #"["x;y","z"]"#
                && json("{(1,1),(0,0);(2,2),(1,1)}", 603) == #"["(1,1),(0,0)","(2,2),(1,1)"]"#)
        #expect(json("{t,f,NULL}", 16) == "[true,false,null]")
        #expect(json(#"{"{\"a\": [1, 2]}"}"#, 3802) == #"[{"a": [1, 2]}]"#)
        #expect(json("{\"line\nnext\u{1}\"}") == #"["line\nnext\u0001"]"#)
        for text in ["", "{", "{a", "{a,}", "{,a}", "a", "{\"a}", "{a}}", "{{{{{{{1}}}}}}}", "[0:1]"] {
            #expect(json(text) == nil, "\(text)")
        }
    }

    @Test(.enabled(if: TestServer.isInstalled)) func arraysInKeysAreStoredAsText() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer, tags text[], v int2vector, PRIMARY KEY (id, tags))",
            "INSERT INTO public.t VALUES (1, '{a,b}', '1 2')")
        let error = #expect(throws: SourceError.self) { try followed.follow(["t"]) }
        #expect(error?.reason == "tags cannot be in the key of public.t, because it has arrays")
        #expect(error?.remedy == .storeAsText(column: "tags"))
        try followed.follow(["t"]) { $0.tables[0].asText = ["tags"] }
        try connection.execute("UPDATE public.t SET v = '3'")
        try followed.follow()
        #expect(try followed.rows("t", key: "id") == ["1": ["id": "1", "tags": "{a,b}", "v": "3"]])
        try connection.execute("DELETE FROM public.t")
        try followed.follow()
        #expect(try followed.rows("t", key: "id").isEmpty)
    }

    @Test(.enabled(if: TestServer.isInstalled)) func columnsWithArraysAreFollowed() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, tags text[], sizes numeric[])",
            "INSERT INTO public.t VALUES (1, '{a,\"b c\"}', '{1.5,NULL}'), (2, NULL, '{}')")
        try followed.follow(["t"])
        try connection.execute("ALTER TABLE public.t ADD flags boolean[]")
        try connection.execute("UPDATE public.t SET flags = '{t}', tags = tags || 'é'::text WHERE id = 1")
        try followed.follow()
        #expect(
            try followed.rows("t", key: "id") == [
                "1": ["id": "1", "tags": #"["a","b c","é"]"#, "sizes": "[1.5,null]", "flags": "[true]"],
                "2": ["id": "2", "sizes": "[]"],
            ])
        // The source's own text, on demand.
        let other = Followed(address: followed.address)
        try other.follow(["t"]) { $0.tables[0].asText = ["tags"] }
        #expect(try other.rows("t", key: "id")["1"]?["tags"] == "{a,\"b c\",é}")
    }
}
