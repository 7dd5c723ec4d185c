internal import FetchIndexModels
internal import FetchIndexRecords

/// The attributes that rows of a file lack: attributes without a column, and attributes that a line of JSON leaves out.
/// Successive rows usually lack the same attributes, so a row first tries the result of the previous row.
struct RowOmissions {
    /// The columns of attributes, with their slots.
    private var columns: [(column: Int, slot: Int)] = []
    /// Slots without columns.
    private var missing: Set<Int> = []
    private var required: Set<Int> = []
    /// The slots that a row with a field in each column leaves out; nil if each attribute has a column.
    private let whole: KeptSlots?
    /// The results of `kept` for earlier rows, by the slots whose columns a row lacked.
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

    /// Returns the slots that a row leaves out; nil if it leaves out none.
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
