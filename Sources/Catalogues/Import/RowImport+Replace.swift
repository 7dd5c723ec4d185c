internal import FetchIndex
internal import FetchIndexModels

// Files that are the whole content of an entity.
extension RowImport {
    /// Deletes the objects that the file lacks, in the open transaction. Returns their number. Drops the transaction and
    /// throws if a row was skipped, or if too many objects would be deleted.
    func deleteOthers() throws -> Int {
        do {
            let others = try others()
            for number in others {
                if let object = try writer.object(number: number) { try writer.delete(object) }
            }
            return others.count
        } catch let error as ImportError {
            writer.rollback()
            throw error
        }
    }

    /// The numbers of the objects that the file lacks.
    private func others() throws -> [UInt64] {
        if bad.count > 0 { throw ImportError.skipped(count: bad.count, first: bad.listed.first) }
        var others: [UInt64] = []
        try writer.forEachNumber { number in
            if !seen.contains(number) { others.append(number) }
            return true
        }
        let most = request.mostDeleted ?? 0
        if others.count * 100 > objectCount * most {
            throw ImportError.lacksTooMany(missing: others.count, objects: objectCount, mostDeleted: most)
        }
        return others
    }
}
