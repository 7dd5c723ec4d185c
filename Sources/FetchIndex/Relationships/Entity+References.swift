internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

extension Entity {
    /// Returns a record with the temporary keys in its references replaced by permanent ones, as `keys` maps them. A
    /// temporary key that isn't in `keys` becomes null, and the record is then incomplete; if `keepsOthers` is true,
    /// the temporary key stays.
    func record(
        _ record: [UInt8], with keys: [RecordKey: RecordKey], keepingOthers keepsOthers: Bool = false
    ) throws -> (record: [UInt8], isComplete: Bool) {
        guard let references = links?.references, !references.isEmpty else { return (record, true) }
        var values: [Int: Value] = [:]
        var isComplete = true
        let view = try RecordView(record.span.bytes)
        for reference in references {
            guard let number = try view.integer(at: reference.slot) else { continue }
            let target = RecordKey(reference: number)
            if let key = keys[target] {
                values[reference.slot] = key.reference
            } else if target.isTemporary && !keepsOthers {
                values[reference.slot] = .null
                isComplete = false
            }
        }
        if values.isEmpty { return (record, true) }
        return (try self.record(record.span.bytes, setting: values), isComplete)
    }

    /// Returns values by slot, with the keys in references replaced as `keys` maps them.
    func values(_ values: [Value], with keys: [RecordKey: RecordKey]) -> [Value] {
        guard let references = links?.references else { return values }
        var values = values
        for reference in references where values.indices.contains(reference.slot) {
            if let key = RecordKey(values[reference.slot]).flatMap({ keys[$0] }) {
                values[reference.slot] = key.reference
            }
        }
        return values
    }
}
