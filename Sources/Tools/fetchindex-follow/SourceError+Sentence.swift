internal import FetchIndexPostgresSource

extension SourceError {
    /// The error as one sentence that says what to type.
    var sentence: String { reason + (remedy?.advice ?? "") }
}

extension SourceRemedy {
    /// The end of a sentence: the options and commands that carry out the remedy.
    fileprivate var advice: String {
        switch self {
        case .copyAgain: "; --recopy copies all tables again"
        case .copyAgainOrEnd: "; --recopy copies all tables again, --end ends following"
        case .dropSlot: ": drop it in the source, then --recopy makes another one"
        case .end: "; --end ends that, so that the store can follow anew"
        case .startAnew(let entity):
            ": --end ends following, and \(Self.drop(entity)) drops the entity, so that the table can be followed anew"
        case .convert(let entity, let attribute, let type):
            ": `fetchindex model migrate STORE --entity \(entity) --change \(attribute):\(type)` converts it, then follow again"
        case .nameSource: ": say postgres://… and --table"
        case .chooseKey: "; --key names a column that is NOT NULL and has a unique index"
        case .chooseEntity(nil): ": --table SCHEMA.TABLE=ENTITY names another"
        case .chooseEntity(let entity?):
            ": follow into another entity, --table SCHEMA.TABLE=ENTITY, or drop it first: \(Self.drop(entity))"
        case .setCondition: ": use --where instead"
        case .leaveOut: ": leave it out with --columns"
        case .storeAsText(let column): ": store it as text with --text \(column), or leave it out with --columns"
        case .startAnewAsText(let entity, let column):
            "; the column can be stored as text: --end, drop the entity with \(Self.drop(entity)), and follow it with "
                + "--text \(column)"
        case .makeChangeTable:
            ": `fetchindex follow … --print-setup` prints the SQL that makes the change table and its triggers"
        }
    }

    private static func drop(_ entity: String) -> String { "`fetchindex model drop-entity STORE --entity \(entity)`" }
}
