internal import FetchIndexLMDB
package import FetchIndexModels

extension StoreReader {
    /// Hands out the records of some objects, by ascending number, until the body returns false, and the objects that have none to
    /// `missing`. The body writes nothing to the store. Throws as `record`. O(k log n); a record on the same page as the one before it
    /// is found in this page.
    package func forEachRecord(
        of objects: ArraySlice<RecordKey>, _ body: (RecordKey, RawSpan) throws -> Bool,
        missing: (RecordKey) throws -> Void
    ) throws {
        if objects.isEmpty { return }
        try view.withCursor(on: tables.records) { cursor in
            for object in objects {
                let isFound: Bool
                do {
                    isFound = try cursor.seek(toKeyFrom: object.rawValue) && cursor.integerKey == object.rawValue
                } catch let error as LMDBError where error.isDamage {
                    throw damaged(error, among: object.entity)
                }
                guard isFound else {
                    try missing(object)
                    continue
                }
                try verify(cursor.value, of: object)
                if try !body(object, cursor.value) { return }
            }
        }
    }
}
