import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import FetchIndexValues

extension TestStore {
    static let books = Model(entities: [
        Entity(
            "Book",
            [
                AttributeDescription("id", .string, isOptional: false, isUnique: true),
                AttributeDescription("price", .integer),
                AttributeDescription("title", .string),
            ]),
        Entity("Shop", [AttributeDescription("name", .string)]),
    ])

    func book(_ id: String, _ price: Int64? = nil, _ title: String? = nil) throws -> [UInt8] {
        try TestStore.books.entities[0].record([
            .string(id), price.map(Value.integer) ?? .null, title.map(Value.string) ?? .null,
        ])
    }
}
