public import FetchIndexValues

/// A named value of an entity's objects.
public struct AttributeDescription: Sendable {
    public let name: String
    public let type: ValueType
    /// Whether the value may be null.
    public let isOptional: Bool
    /// Whether no two objects may have the same value, except null. A value is refused if its unique key would exceed
    /// 511 bytes; a value of up to 500 bytes without zero bytes always fits.
    public let isUnique: Bool
    /// The attribute's value until it is set: in objects that were saved before the attribute was added, and in new
    /// objects. It's fixed when the attribute is added to a store, or when a migration moves its values to a new slot.
    public var defaultValue: Value { extras?.defaultValue ?? .null }
    /// The attribute's name in an older model: adding the attribute to a store that has an attribute of that name
    /// renames the stored one.
    public var renamedFrom: String? { extras?.renamedFrom }
    /// An expression in the predicate language over other attributes of the object, such as `canonical:(name)` or
    /// `price * count`. Every writer computes the attribute's value with it. Nil if the attribute isn't derived.
    public var derivation: String? { extras?.derivation }

    /// Rarely used properties, kept in a separate object because descriptions are copied in hot paths.
    private let extras: Extras?

    private final class Extras: Sendable {
        let defaultValue: Value
        let renamedFrom: String?
        let derivation: String?

        init(_ defaultValue: Value, _ renamedFrom: String?, _ derivation: String?) {
            (self.defaultValue, self.renamedFrom, self.derivation) = (defaultValue, renamedFrom, derivation)
        }
    }

    public init(
        _ name: String, _ type: ValueType, isOptional: Bool = true, isUnique: Bool = false,
        defaultValue: Value = .null, renamedFrom: String? = nil, derivation: String? = nil
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isUnique = isUnique
        let hasExtras = !defaultValue.isNull || renamedFrom != nil || derivation != nil
        extras = hasExtras ? Extras(defaultValue, renamedFrom, derivation) : nil
    }

    /// Returns a copy with other properties, and without `renamedFrom`.
    func with(
        name: String? = nil, isOptional: Bool? = nil, isUnique: Bool? = nil, defaultValue: Value? = nil
    ) -> AttributeDescription {
        AttributeDescription(
            name ?? self.name, type, isOptional: isOptional ?? self.isOptional, isUnique: isUnique ?? self.isUnique,
            defaultValue: defaultValue ?? self.defaultValue, derivation: derivation)
    }

    /// Returns a copy with the given derivation, or without one if it's nil, and without `renamedFrom`.
    func derived(by derivation: String?) -> AttributeDescription {
        AttributeDescription(
            name, type, isOptional: isOptional, isUnique: isUnique, defaultValue: defaultValue, derivation: derivation)
    }
}

/// Two descriptions are equal if their names, types, derivations, optionality and uniqueness are equal. Default values
/// and older names aren't compared.
extension AttributeDescription: Hashable {
    public static func == (left: AttributeDescription, right: AttributeDescription) -> Bool {
        left.name == right.name && left.type == right.type && left.isOptional == right.isOptional
            && left.isUnique == right.isUnique && left.derivation == right.derivation
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A slot of an entity's records: it contains the value of an attribute, or a reference or position of a relationship
/// (`SlotRole`). The slot keeps its number as long as the entity exists.
package struct SlotDescription: Sendable {
    /// The attribute, with its newest name.
    package var attribute: AttributeDescription
    /// The attribute's name in the identities of caches, which stays the same when the attribute is renamed: its name
    /// when it got this slot, with a suffix if another slot's permanent name is the same.
    package var permanentName: String
    /// The attribute's former names. Requests and older programs may use a former name that no other attribute has or
    /// had.
    package var formerNames: [String] = []
    /// Whether the slot isn't used any more, for example because the attribute was removed, or because a migration has
    /// given it another slot. No other attribute gets the slot.
    package var isRemoved = false
    package let role: SlotRole

    /// Takes over the name in an older model, which the store never had: a later version of the model may still name it.
    mutating func noteFormerName(unlessIn used: Set<String>) {
        guard let former = attribute.renamedFrom, former != attribute.name, !formerNames.contains(former),
            !used.contains(former)
        else { return }
        formerNames.append(former)
    }

    package init(_ attribute: AttributeDescription, permanentName: String? = nil, role: SlotRole = .attribute) {
        self.attribute = attribute
        self.role = role
        self.permanentName = permanentName ?? attribute.name
    }
}
