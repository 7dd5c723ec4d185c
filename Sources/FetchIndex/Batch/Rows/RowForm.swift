package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// The source of each slot's value in an entity's records, for rows with given columns: a column, a default value, or
/// nothing.
package struct RowForm {
    /// The source of a slot's value. It doesn't contain the attribute's description, because copying that for each row
    /// would cost more than the rest.
    package enum Source {
        /// A null, because the attribute was removed, is a reference, or has neither a column nor a default value.
        case null
        /// The index of a default value. The value itself would be retained for each row.
        case value(Int)
        /// No value: a new object needs one, but the attribute has neither a column nor a default value.
        case missing
        case column(Int, ValueType, isRequired: Bool, isKey: Bool)
    }

    /// The source of each slot.
    package let sources: [Source]
    package let defaultValues: [Value]
    /// The index of each slot's default value, if any. Attributes with a column have one too.
    private let defaultPlaces: [Int?]
    /// The slots that rows leave to stored objects; nil if each row is a new object.
    private var omissions: RowOmissions?

    /// If `mayUpdate`, rows may update stored objects, which keep the values that rows lack.
    package init(of entity: Entity, columnOfSlot: [Int?], mayUpdate: Bool) {
        if mayUpdate { omissions = RowOmissions(columnOfSlot, of: entity) }
        var defaultValues: [Value] = []
        var defaultPlaces: [Int?] = []
        let keys = Set(entity.uniqueConstraints.flatMap(\.slots))
        sources = zip(entity.slots.indices, columnOfSlot).map { slot, column in
            let description = entity.slots[slot]
            let attribute = description.attribute
            // References are set when the row is linked.
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

    /// The default value of an attribute, with or without a column; nil if it has none.
    package func defaultValue(ofSlot slot: Int) -> Value? { defaultPlaces[slot].map { defaultValues[$0] } }

    /// Notes which of its columns a row lacks, so that a stored object keeps its values there. O(1) for a row that
    /// lacks none.
    package mutating func noteOmissions(
        in builder: inout RowBuilder, hasAbsent: Bool, isAbsent: (_ column: Int) -> Bool
    ) {
        builder.kept = omissions?.kept(hasAbsent: hasAbsent, isAbsent)
    }
}
