internal import FetchIndexTerminal
internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection

// The options and commands that errors of an import advise.

extension ImportRemedy {
    var advice: String {
        switch self {
        case .addColumns: "; --add-columns adds it"
        case .key: "; --key matches rows with objects by a value"
        case .relation: "; --relate names objects by a value"
        case .delimiter(let delimiter, let isCSV):
            ": if it does, pass \(isCSV ? "" : "--format csv ")--delimiter \(delimiter == 0x09 ? "tab" : "';'"); if not, "
                + "pass --format csv --delimiter ,"
        case .typeOfColumn: "; --types gives a column its type"
        case .types: ", and if --types gives all types, nothing needs to be kept"
        }
    }

    /// The advice on an error of an input; "" if nothing is advised.
    static func advice(on error: any Error) -> String {
        let remedy = (error as? BadInput)?.remedy ?? (error as? UnreadableFile)?.remedy
        return remedy?.advice ?? ""
    }
}

extension BadInput {
    var sentence: String { "\(self)\(remedy?.advice ?? "")" }
}

extension ImportError {
    /// The error that the tool ends with: a `RequestError` for wrong usage, otherwise a `Failure`.
    var asTold: any Error {
        switch self {
        case .unknownRelated(let entity, let near):
            Failure(
                "--relate names the entity \(entity.visible), which the store lacks\(near.hint); "
                    + "import \(entity.visible) first, or pass --create-related")
        case .notKey: RequestError.wrongType("\(self); --key makes it unique")
        case .unknownRelationship(let entity, let name, let near):
            Failure(
                "\(entity.visible) has no relationship \(name.visible)\(near.hint)\(ImportRemedy.addColumns.advice)")
        case .otherType(_, let attribute, _, let given):
            RequestError.wrongType(
                "\(self); `fetchindex model migrate` with --change \(RequestText.quoted(attribute)):\(given.name) "
                    + "changes it; after a failed first import, drop the entity with `fetchindex model drop-entity`")
        case .noKey: RequestError.wrongType("\(self), so --replace needs --key, which matches rows with objects")
        case .skipped(let count, let first):
            Failure(
                "\(Numbers.count(count, "bad row")) skipped\(first.map { " (\($0.sentence))" } ?? ""), so --replace cannot "
                    + "tell which objects the file lacks; nothing was changed")
        case .lacksTooMany(let missing, let objects, let most):
            Failure(
                "the file lacks \(Numbers.grouped(missing)) of \(Numbers.count(objects, "object")), more than "
                    + "--replace-limit \(most) per cent; nothing was changed")
        }
    }
}

extension ImportStopped {
    var sentence: String {
        let cause = (cause as? BadInput)?.sentence ?? "\(cause)"
        switch saved {
        case .nothing: return "\(cause)\(otherType); nothing was changed"
        case .rows(let count, let unlinked):
            let told = "\(Numbers.count(count, "row")) before it \(count == 1 ? "is" : "are") saved"
            let lost = unlinked == 0 ? "" : ", without \(Numbers.count(unlinked, "link")) to rows after it"
            return "\(cause)\(otherType); \(told)\(lost)"
        case .withoutLinks: return "\(cause); the rows are saved without links that cannot be made"
        }
    }

    /// The advice to import the column as text; "" if its type isn't the cause, or if the entity has objects.
    private var otherType: String {
        guard isEntityEmpty, let bad = cause as? BadInput, bad.isOfType, let name = bad.columnName else { return "" }
        return "; --types \(RequestText.quoted(name)):string imports the column as text"
    }
}
