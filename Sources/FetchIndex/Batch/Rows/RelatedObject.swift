package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// The related objects that a row of a file names in one column.
package enum RelatedObject {
    /// The row lacks the column, so a stored object keeps its related objects.
    case absent
    case none
    /// The object with this value of a unique attribute.
    case named(Value)
    case object(RowLink)
    case list([RowLink])

    var isAbsent: Bool { if case .absent = self { true } else { false } }

    /// The links that the row sets, empty for `none`; nil if the row lacks the column, or names its object by a value.
    var links: [RowLink]? {
        switch self {
        case .absent, .named: nil
        case .none: []
        case .object(let link): [link]
        case .list(let links): links
        }
    }
}

/// A link of a row: the linked object, and the link's positions if they are known.
package struct RowLink {
    package let object: RecordKey
    /// For a many-to-many relationship, the linked object's position among the related objects of the row's object. For
    /// a to-one relationship, the position of the row's object among the related objects of the linked object.
    package let position: [UInt8]?
    /// For a many-to-many relationship, the position of the row's object among the related objects of the linked
    /// object.
    package let otherPosition: [UInt8]?

    package init(_ object: RecordKey, position: [UInt8]? = nil, otherPosition: [UInt8]? = nil) {
        (self.object, self.position, self.otherPosition) = (object, position, otherPosition)
    }
}

/// A row of a file with related objects.
struct LinkedRow {
    let record: [UInt8]
    /// The object number that the row gets or has in this store; nil if the key decides, or a new object gets the next
    /// free number.
    let number: UInt64?
    /// The related objects, one entry for each column.
    let related: [RelatedObject]
    let kept: KeptSlots?
}
