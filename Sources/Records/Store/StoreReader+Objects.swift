internal import LMDB
package import Models

extension StoreReader {
    /// Hands out the records of some objects, by ascending number, until the body returns false, and those that have none to
    /// `missing`. Throws as `record`. Records that stand near each other are found without a search from the root.
    package func forEachRecord(
        of objects: ArraySlice<RecordKey>, _ body: (RecordKey, RawSpan) throws -> Bool,
        missing: (RecordKey) throws -> Void
    ) throws {
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
