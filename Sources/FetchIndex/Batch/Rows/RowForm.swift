package import FetchIndexModels
internal import FetchIndexRecords
package import FetchIndexValues

/// The source of each slot's value in the records of rows with given columns: a column, a default value, or null.
package struct RowForm {
    /// The source of a slot's value. It doesn't contain the attribute's description, because copying the description
    /// for each row would cost more than the row's other work.
    package enum Source {
        /// A null, because the slot was removed or belongs to a relationship, or because the attribute has neither a
        /// column nor a default value.
        case null
        /// The index of a default value in `defaultValues`. If this case had the value itself, each row would retain
        /// it.
        case value(Int)
        /// No value, although a new object needs one: the attribute has neither a column nor a default value.
        case missing
        case column(Int, ValueType, isRequired: Bool, isKey: Bool)
    }

    /// The source of each slot.
    package let sources: [Source]
    package let defaultValues: [Value]
    /// For each slot, the index of its default value in `defaultValues`, if any; also for attributes with a column.
    private let defaultPlaces: [Int?]
    /// Finds the slots that a row leaves out; nil if each row is a new object.
    private var omissions: RowOmissions?

    /// If `mayUpdate`, rows may update stored objects, which keep the values that rows lack. All rows have the values of
    /// `constants`, by slot.
    package init(of entity: Entity, columnOfSlot: [Int?], mayUpdate: Bool, constants: [Int: Value] = [:]) {
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
            let standard = constants[slot] ?? attribute.defaultValue
            if isAttribute, !standard.isNull {
                place = defaultValues.count
                defaultValues.append(standard)
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

    /// The default value of an attribute, with or without a column; nil if the attribute has no default value.
    package func defaultValue(ofSlot slot: Int) -> Value? { defaultPlaces[slot].map { defaultValues[$0] } }

    /// Notes which columns a row lacks, so that a stored object keeps its values of these attributes. O(1) for a row
    /// that has all columns.
    package mutating func noteOmissions(
        in builder: inout RowBuilder, hasAbsent: Bool, isAbsent: (_ column: Int) -> Bool
    ) {
        builder.kept = omissions?.kept(hasAbsent: hasAbsent, isAbsent)
    }
}
