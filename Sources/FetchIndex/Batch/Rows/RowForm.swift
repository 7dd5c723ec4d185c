package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// Where the values of an entity's records come from, where rows have some columns: a column, a default value, or nothing.
package struct RowForm {
    /// What stands in a slot of a record. The descriptions of attributes are not in it: copying them for each row would cost more than the
    /// rest.
    package enum Source {
        /// Removed attributes, references, and attributes without a column.
        case null
        /// One of the default values. The value itself would be retained for each row.
        case value(Int)
        /// An attribute without a column that a new object must have a value of.
        case missing
        case column(Int, ValueType, isRequired: Bool, isKey: Bool)
    }

    /// By slot.
    package let sources: [Source]
    package let defaultValues: [Value]
    /// By slot, the place of the default value, if any, also of an attribute that has a column.
    private let defaultPlaces: [Int?]
    /// Which rows leave which slots to stored objects; nil where each row is a new object.
    private var omissions: RowOmissions?

    /// `mayUpdate`: rows may be those of stored objects, which keep the values that rows do not have.
    package init(of entity: Entity, columnOfSlot: [Int?], mayUpdate: Bool) {
        if mayUpdate { omissions = RowOmissions(columnOfSlot, of: entity) }
        var defaultValues: [Value] = []
        var defaultPlaces: [Int?] = []
        let keys = Set(entity.uniqueConstraints.flatMap(\.slots))
        sources = zip(entity.slots.indices, columnOfSlot).map { slot, column in
            let description = entity.slots[slot]
            let attribute = description.attribute
            // References are put in when the row is linked.
            let isAttribute = !description.isRemoved && description.role == .attribute
            var place: Int?
            if isAttribute, !attribute.defaultValue.isNull {
                place = defaultValues.count
                defaultValues.append(attribute.defaultValue)
            }
            defaultPlaces.append(place)
            if !isAttribute { return .null }
            let isRequired = !attribute.isOptional && attribute.derivation == nil
            guard let column else {
                if let place { return .value(place) }
                return isRequired && !mayUpdate ? .missing : .null
            }
            return .column(column, attribute.type, isRequired: isRequired, isKey: keys.contains(slot))
        }
        (self.defaultValues, self.defaultPlaces) = (defaultValues, defaultPlaces)
    }

    package var mayUpdate: Bool { omissions != nil }

    /// The default value of an attribute, whether it has a column or not; nil without one.
    package func defaultValue(ofSlot slot: Int) -> Value? { defaultPlaces[slot].map { defaultValues[$0] } }

    /// Notes which of its columns a row lacks, so that a stored object keeps its values there. O(1) for a row that lacks none.
    package mutating func noteOmissions(
        in builder: inout RowBuilder, hasAbsent: Bool, isAbsent: (_ column: Int) -> Bool
    ) {
        builder.kept = omissions?.kept(hasAbsent: hasAbsent, isAbsent)
    }
}
