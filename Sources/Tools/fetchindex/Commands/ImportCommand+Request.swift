internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexCatalogues

// The import of a catalogue that the options describe.
extension ImportCommand {
    var isDatabase: Bool {
        table != nil || format == nil && files.contains { CatalogueFormat.isDatabase(path: $0) }
    }

    func request() throws -> ImportRequest {
        let listPath = try listPath()
        if isDatabase && (files.count > 1 || format != nil || delimiter != nil || listPath != nil || flatten) {
            throw ValidationError(
                "A table of one SQLite database is imported by itself: other files, and the options of other formats, cannot be used with it."
            )
        }
        let format = isDatabase ? .csv : try format(listPath)
        if format != .jsonl && (listPath != nil || flatten) {
            throw ValidationError("--path and --flatten are for JSON, not for \(format.rawValue).")
        }
        var request = ImportRequest(store: store.store, files: files, format: format, entity: entity)
        request.key = key
        (request.isDatabase, request.table) = (isDatabase, table)
        request.types = try GivenTypes(option: types ?? "")
        request.delimiter = try delimiter.map { try CatalogueInput.delimiter(option: $0, format) }
        request.relations = try relate.map { try ImportRequest.Relation(option: $0) }
        request.insertsRelated = createRelated
        request.missingObjectHint = "; --create-related inserts it"
        request.addsColumns = addColumns
        request.skipsBadRows = skipBadRows
        request.areListsText = lists.listsAsText
        request.flattens = flatten
        request.listPath = listPath
        request.mostDeleted = replace ? replaceLimit : nil
        request.threads = threads.count
        request.isDryRun = review.dryRun
        return request
    }

    /// The members that lead to the list of a JSON document; nil if the file isn't one.
    private func listPath() throws -> [String]? {
        if let path {
            let members = RequestText.split(path, at: ".").map(RequestText.unquoted)
            if members.contains("") { throw ValidationError("--path has an empty member: \"\(path)\".") }
            return members
        }
        let isDocument = format == nil && files.contains { CatalogueFormat.isDocument(path: $0) }
        return isDocument ? [] : nil
    }

    /// The format of all files.
    private func format(_ listPath: [String]?) throws -> CatalogueFormat {
        if let format { return format }
        if listPath != nil {
            if let other = files.first(where: { CatalogueFormat(path: $0) != nil }) {
                throw ValidationError(
                    "The name \(other) is not that of a JSON document, such as NAME.json; pass --format jsonl if it is one."
                )
            }
            return .jsonl
        }
        let formats = try files.map { file in
            // `--delimiter` is only for CSV, so it implies the format.
            guard let format = CatalogueFormat(path: file) ?? (delimiter == nil ? nil : .csv) else {
                throw ValidationError(
                    "The name \(file) does not show the file's format; pass --format csv, tsv or jsonl.")
            }
            return format
        }
        guard formats.allSatisfy({ $0 == formats[0] }) else {
            throw ValidationError("The files have different formats: import them one after the other.")
        }
        return formats[0]
    }
}
