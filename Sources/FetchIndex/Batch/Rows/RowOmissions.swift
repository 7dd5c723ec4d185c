internal import FetchIndexModels
internal import FetchIndexRecords

/// The attributes that rows of a file lack: attributes without a column, and members that a line of JSON lacks.
/// Successive rows usually lack the same ones, so that a row costs a comparison.
struct RowOmissions {
    /// The columns of attributes, with their slots.
    private var columns: [(column: Int, slot: Int)] = []
    /// Slots without columns.
    private var missing: Set<Int> = []
    private var required: Set<Int> = []
    /// The slots that a row leaves out if it has a field in each column.
    private let whole: KeptSlots?
    /// The kept slots, by the slots with a column that a row lacks.
    private var known: [[Int]: KeptSlots] = [:]
    private static let mostKnown = 4096
    private var last: (slots: [Int], kept: KeptSlots)?
    private var absent: [Int] = []

    init(_ columnOfSlot: [Int?], of entity: Entity) {
        for slot in entity.attributeSlots {
            let attribute = entity.attribute(at: slot)
            if !attribute.isOptional && attribute.derivation == nil && attribute.defaultValue.isNull {
                required.insert(slot)
            }
            if let column = columnOfSlot[slot] { columns.append((column, slot)) } else { missing.insert(slot) }
        }
        whole = missing.isEmpty ? nil : KeptSlots(missing, requiredSlot: missing.intersection(required).min())
    }

    /// The slots that a row leaves to a stored object, if any.
    mutating func kept(hasAbsent: Bool, _ isAbsent: (_ column: Int) -> Bool) -> KeptSlots? {
        guard hasAbsent else { return whole }
        absent.removeAll(keepingCapacity: true)
        for (column, slot) in columns where isAbsent(column) { absent.append(slot) }
        if absent.isEmpty { return whole }
        if let last, last.slots == absent { return last.kept }
        if known.count >= Self.mostKnown { known = [:] }
        let slots = missing.union(absent)
        let kept = known[absent] ?? KeptSlots(slots, requiredSlot: slots.intersection(required).min())
        known[absent] = kept
        last = (absent, kept)
        return kept
    }
}
