internal import FetchIndex
internal import FetchIndexCatalogues
internal import FetchIndexInspection

// What an import's errors tell users to type.

extension ImportRemedy {
    var advice: String {
        switch self {
        case .addColumns: "; --add-columns adds it"
        case .key: "; --key matches rows with objects by a value"
        case .relation: "; --relate names objects by a value"
        case .delimiter(let delimiter, let isCSV):
            ": if it does, say \(isCSV ? "" : "--format csv ")--delimiter \(delimiter == 0x09 ? "tab" : "';'"); if not, "
                + "--format csv --delimiter ,"
        case .typeOfColumn: "; --types gives a column its type"
        case .types: ", and with --types nothing is kept"
        }
    }

    /// The advice on an error of an input; empty without a remedy.
    static func advice(on error: any Error) -> String {
        let remedy = (error as? BadInput)?.remedy ?? (error as? UnreadableFile)?.remedy
        return remedy?.advice ?? ""
    }
}

extension BadInput {
    var sentence: String { "\(self)\(remedy?.advice ?? "")" }
}

extension ImportError {
    /// The error that the tool ends with; wrong usage stays a `RequestError`.
    var asTold: any Error {
        switch self {
        case .unknownRelated(let entity, let near):
            Failure(
                "--relate names \(entity.visible), which is no entity of the store\(near.hint): "
                    + "import it first, or say --create-related")
        case .notKey: RequestError.wrongType("\(self): it needs to be the --key")
        case .unknownRelationship(let entity, let name, let near):
            Failure("\(entity.visible) has no relationship \(name.visible)\(near.hint)\(ImportRemedy.addColumns.advice)")
        case .otherType(_, let attribute, _, let given):
            RequestError.wrongType(
                "\(self); `fetchindex model migrate` with --change \(RequestText.quoted(attribute)):\(given.name) "
                    + "changes it, and `fetchindex model drop-entity` lets a failed first import begin anew")
        case .skipped(let count, let first):
            Failure(
                "\(Numbers.count(count, "bad row")) skipped\(first.map { " (\($0.sentence))" } ?? ""), so --replace cannot "
                    + "tell what is missing; nothing was changed")
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
        case .nothing: return "\(cause)\(otherType); --replace changed nothing"
        case .rows(let count, let unlinked):
            let told = "\(Numbers.count(count, "row")) before it \(count == 1 ? "is" : "are") saved"
            let lost = unlinked == 0 ? "" : ", without \(Numbers.count(unlinked, "link")) to rows after it"
            return "\(cause)\(otherType); \(told)\(lost)"
        case .withoutLinks: return "\(cause); the rows are saved without such links"
        }
    }

    /// How the column gets another type, while the entity has no objects.
    private var otherType: String {
        guard isEntityEmpty, let bad = cause as? BadInput, bad.isOfType, let name = bad.columnName else { return "" }
        return "; --types \(RequestText.quoted(name)):string imports the column as text"
    }
}
