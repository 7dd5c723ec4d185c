/// A remedy for a `SourceError`. Its text follows the error's reason and names no options: a tool says what to type
/// instead.
package enum SourceRemedy: Equatable, Sendable, CustomStringConvertible {
    case copyAgain
    case copyAgainOrEnd
    case copyAgainOrDrop(table: String)
    /// Drop the given slot in the source.
    case dropSlot
    case end
    /// End following and drop the entity, so that the table can be followed anew.
    case startAnew(entity: String)
    /// Convert an attribute to the type of its column, then follow again.
    case convert(entity: String, attribute: String, type: String)
    /// Tell that the source has moved, or end following.
    case move
    /// Name an address and tables.
    case nameSource
    /// Choose other key columns.
    case chooseKey
    /// Follow into another entity or, if `orDrop` isn't nil, drop the entity that it names.
    case chooseEntity(orDrop: String?)
    /// Name a publication that exists.
    case namePublication
    /// Give the condition to the store instead of the publication.
    case setCondition
    /// Leave the column out.
    case leaveOut
    /// Store the column as text.
    case storeAsText(column: String)
    /// Change the value in the source, choose a rule for such values, or store the columns as text.
    case changeValue(entity: String, columns: [String])
    /// Say that an attribute contains the source's name, and whether it is in the key.
    case nameShard(attribute: String, isInKey: Bool)
    /// Delete the row in all sources but one.
    case deleteInOneSource
    /// Say which of the store's sources is meant.
    case nameOneSource
    /// Make the change table and its triggers in the source.
    case makeChangeTable

    package var description: String {
        switch self {
        case .copyAgain: "all tables must be copied again"
        case .copyAgainOrEnd: "all tables must be copied again, or following must be ended"
        case .copyAgainOrDrop: "all tables must be copied again, or the table must be dropped from the followed ones"
        case .dropSlot: "it must be dropped in the source before another one is made"
        case .end: "following must be ended, so that the store can follow anew"
        case .startAnew(let entity):
            "following must be ended and the entity \(entity) dropped, so that the table can be followed anew"
        case .convert(let entity, let attribute, let type):
            "\(entity).\(attribute) must be converted to \(type) before the store follows again"
        case .move: "the source may have moved to another address; otherwise following must be ended"
        case .nameSource: "an address and tables are needed"
        case .chooseKey: "columns that are NOT NULL and have a unique index can be the key"
        case .chooseEntity(nil): "another entity must be named"
        case .chooseEntity: "another entity must be named, or this one must be dropped"
        case .namePublication: "a publication that the tables' owner has made can be named"
        case .setCondition: "the condition must be given to the store instead of the publication"
        case .leaveOut: "the column must be left out"
        case .storeAsText: "the column can be stored as text"
        case .changeValue:
            "it can be changed in the source, stored as null or as the nearest value, or the column can be stored as text"
        case .nameShard(let attribute, _): "its attribute \(attribute) must contain the source's name"
        case .deleteInOneSource: "the row must be deleted in all sources but one"
        case .nameOneSource: "one of the sources must be named"
        case .makeChangeTable: "the source needs the change table and its triggers"
        }
    }
}
