internal import FetchIndexCatalogues

extension InputRemedy {
    /// The end of a sentence about an input: the option that helps.
    var advice: String {
        switch self {
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
