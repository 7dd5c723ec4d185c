internal import FetchIndexModels
internal import FetchIndex
internal import FetchIndexInspection

// Files that are the whole truth of an entity.
extension ImportCommand {
    /// Deletes the objects that a file did not have, in the open transaction. Returns how many these were. Rolls it back and
    /// throws when a row was skipped or too many objects would go.
    func deleteOthers(than seen: SeenObjects, of count: Int, with writer: BatchWriter, _ report: Report) throws -> Int {
        func refuse(_ reason: String) throws -> Never {
            writer.rollback()
            throw Failure("\(reason); nothing was changed")
        }
        if report.badRowCount > 0 {
            let first = report.badRows.first.map { " (\($0))" } ?? ""
            let count = Numbers.count(report.badRowCount, "bad row")
            try refuse("\(count) skipped\(first), so --replace cannot tell what is missing")
        }
        var others: [UInt64] = []
        try writer.forEachNumber { number in
            if !seen.contains(number) { others.append(number) }
            return true
        }
        if others.count * 100 > count * replaceLimit {
            try refuse(
                "the file lacks \(Numbers.grouped(others.count)) of \(Numbers.count(count, "object")), more than "
                    + "--replace-limit \(replaceLimit) per cent")
        }
        for number in others {
            if let object = try writer.object(number: number) { try writer.delete(object) }
        }
        return others.count
    }
}
