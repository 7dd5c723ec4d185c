import FetchIndexModels
import Foundation
import FetchIndexPredicates
import FetchIndexRecords
import FetchIndexValues

/// The object that predicates are evaluated on.
enum SampleObject {
    static let nested: PredicateValue = [
        "title": "Straße nach Été", "書名": "虐殺器官", "price": 583, "rating": 4.5, "inPrint": true, "note": nil,
        "released": .one(.date(Date(timeIntervalSinceReferenceDate: 287_452_800))),
        "cost": .one(.decimal(Decimal(3) / 2)),
        "cover": .one(.data(Data([0, 1, 255]))), "scores": [3, 1, 4], "tags": ["a", "影", nil],
        "author": ["name": "伊藤計劃", "born": 1974, "books": [["title": "屍者の帝国", "pages": 459], ["pages": nil]]],
    ]

    /// An attribute of each type, named like the type, and some attributes of the nested object.
    static let entity = Entity(
        "Everything",
        ValueType.allCases.map { AttributeDescription($0.name, $0) } + [
            AttributeDescription("title", .string), AttributeDescription("price", .integer),
            AttributeDescription("rating", .double), AttributeDescription("released", .date),
            AttributeDescription("note", .string),
        ])

    static let values: [Value] = [
        true, 583, 4.5, .decimal(Decimal(3) / 2), .date(Date(timeIntervalSinceReferenceDate: 287_452_800)),
        "Straße nach Été", .data(Data([0, 1, 255])), Value("E621E1F8-C36C-495A-93FC-0C247A3E6E5F", as: .uuid) ?? nil,
        Value("https://example.com/books/1", as: .url) ?? nil, "虐殺器官", -1, .double(.infinity),
        .date(Date(timeIntervalSinceReferenceDate: -0.5)), nil,
    ]

    static let record: [UInt8] = {
        do { return try entity.record(values) } catch { preconditionFailure("The sample has wrong types: \(error)") }
    }()
}
