import FetchIndexTestSupport
import Testing

/// The compiler's messages for some wrong declarations and sort keys say what to write instead.
@Suite(.enabled(if: UserProgram.canBeCompiled)) struct CompilerMessageTests {
    private func complaints(_ declaration: String, _ inverse: String = "") throws -> String {
        try UserProgram(
            """
            import FetchIndex

            final class Author: ManagedObject {
                @Attribute("name") var name: String
                \(declaration)
            }
            final class Book: ManagedObject {
                @Attribute("title") var title: String
                \(inverse)
            }
            """
        ).complaints()
    }

    private let book = "@Relationship(\"author\", inverse: \"books\") var author: Author?"

    @Test func correctDeclarationsCompile() throws {
        let right = "@Relationship(\"books\", inverse: \"author\") var books: Related<Book>"
        #expect(try complaints(right, book) == "")
    }

    @Test func theMessageForAMissingInverseSaysHowToNameIt() throws {
        let text = try complaints("@Relationship(\"books\") var books: Related<Book>", book)
        let sentence = "needs its inverse, a relationship of the other class: inverse: \"author\"."
        #expect(text.contains(sentence), "\(text)")
    }

    @Test(arguments: ["[Book]", "Set<Book>"])
    func theMessageForACollectionTypeSaysToUseRelated(type: String) throws {
        for inverse in [", inverse: \"author\"", ""] {
            let text = try complaints("@Relationship(\"books\"\(inverse)) var books: \(type)", book)
            #expect(text.contains("declare it as Related<Author>"), "\(text)")
        }
    }

    @Test func theMessageForAnObjectAsASortKeySaysToUseItsAttribute() throws {
        let program = """

            let sorted = SortKey<Book>(\\.author)
            """
        let text = try complaints("", book + "\n}\nfunc use() {" + program)
        #expect(text.contains("Sort by an attribute of the related object"), "\(text)")
    }
}
