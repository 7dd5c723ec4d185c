internal import FetchIndex
internal import FetchIndexPostgresSource

extension SourceError {
    /// The error's reason, with the options or commands that help, if any are known. `name` is the source's, if the store
    /// may have others.
    func sentence(of name: String? = nil) -> String {
        let name = name.flatMap { $0 == SourceName.main ? nil : " --name \($0)" } ?? ""
        return reason + (remedy?.advice(name) ?? "")
    }
}

extension SourceRemedy {
    /// The end of the error's sentence: the options and commands that carry out the remedy.
    fileprivate func advice(_ name: String) -> String {
        switch self {
        case .copyAgain: "; --recopy\(name) copies all tables again"
        case .copyAgainOrEnd: "; --recopy\(name) copies all tables again, and --end\(name) ends following"
        case .copyAgainOrDrop(let table):
            "; --recopy\(name) copies all tables again if the source has the table, and --drop-table \(table)\(name) takes it out"
        case .dropSlot: ": drop it in the source; after that, --recopy\(name) creates another slot"
        case .end: "; --end\(name) ends following, so that the store can follow anew"
        case .startAnew(let entity):
            ": --end\(name) ends following, and \(Self.drop(entity)) drops the entity, so that the table can be followed anew"
        case .convert(let entity, let attribute, let type):
            ": `fetchindex model migrate STORE --entity \(entity) --change \(attribute):\(type)` converts it; follow again after that"
        case .move:
            "; --move says that this source has another address now, --name NAME adds a further source, and --end\(name) ends following"
        case .nameSource: ": pass postgres://… and --table"
        case .chooseKey:
            "; --key can name columns that are NOT NULL and have a unique index, and with REPLICA IDENTITY FULL the source's log needs no key"
        case .chooseEntity(nil): ": --table SCHEMA.TABLE=ENTITY names another entity"
        case .chooseEntity(let entity?):
            ": name another entity, --table SCHEMA.TABLE=ENTITY, or first drop this one: \(Self.drop(entity))"
        case .namePublication: "; --publication names one that the tables' owner has made"
        case .setCondition: ": use --where, without --publication"
        case .leaveOut: ": list the other columns with --columns"
        case .storeAsText(let column): ": store it as text with --text \(column)"
        case .changeValue(let entity, let columns):
            "; change it in the source and follow again, or store such values as null or as the nearest value with "
                + "--unstorable \(entity):null or \(entity):clamp, or store columns as text with --table and "
                + "--text \(entity):\(columns.joined(separator: ","))"
        case .nameShard(let attribute, let isInKey):
            ": --shard \(attribute) \(isInKey ? "without" : "with") --global-keys shares it"
        case .deleteInOneSource: "; delete it in all sources but one, and follow again"
        case .nameOneSource: ": --name says which one is meant"
        case .makeChangeTable:
            ": `fetchindex follow … --print-setup` prints the SQL that creates the change table and its triggers"
        }
    }

    private static func drop(_ entity: String) -> String { "`fetchindex model drop-entity STORE --entity \(entity)`" }
}
