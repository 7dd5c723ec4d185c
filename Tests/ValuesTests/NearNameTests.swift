import Testing

@testable import FetchIndexValues

@Suite struct NearNameTests {
    @Test(arguments: [
        ("Pakage", "Package"), ("PACKAGE", "Package"), ("pirce", "price"), ("prices", "price"), ("prize", "price"),
        ("autor.name", nil), ("x", nil), ("", nil), ("Pckge", "Package"), ("by prise", "by price"), ("ab", nil),
    ]) func aSimilarNameIsSuggested(name: String, expected: String?) {
        #expect(["Package", "price", "by price", "id", "aa", "bb"].nearest(to: name) == expected)
    }

    @Test func aKnownNameIsNotSuggestedForItself() {
        #expect(["price"].nearest(to: "price") == nil)
    }

    @Test func veryLongNamesGetNoSuggestion() {
        let long = String(repeating: "x", count: 1 << 20)
        #expect([long].nearest(to: "price") == nil && ["price"].nearest(to: long) == nil)
    }
}
