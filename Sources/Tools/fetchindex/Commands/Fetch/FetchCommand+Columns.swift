internal import ArgumentParser
internal import FetchIndex

extension FetchCommand {
    /// The columns that are printed.
    func columns(of order: FetchedOrder) throws -> [FetchedColumn] {
        guard let columns else { return order.attributeColumns }
        var known: Set<String> = []
        return try RequestText.split(columns, at: ",").map { text in
            let name = RequestText.unquoted(text)
            guard known.insert(name).inserted else { throw ValidationError("--columns names \(name) twice.") }
            return try order.column(name)
        }
    }
}
