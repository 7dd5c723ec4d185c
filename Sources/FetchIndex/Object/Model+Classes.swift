public import Models
internal import SystemBasics

extension Model {
    /// The model that classes of managed objects declare. The entity of a class whose base class is among them is a subentity of
    /// the base class's entity.
    public init(_ classes: ManagedObject.Type...) {
        let known = Set(classes.map(ObjectIdentifier.init))
        self.init(entities: classes.map { $0.declaredEntity(among: known) })
        attachedTypes = Dictionary(classes.map { ($0.entityName, $0) }) { first, _ in first }
    }
}

extension ManagedObject {
    /// The nearest base class that is among some classes.
    private static func superclass(among classes: Set<ObjectIdentifier>) -> ManagedObject.Type? {
        if classes.isEmpty { return nil }
        var mirror = Mirror(reflecting: self.init(.prototype(AttributeProbe()))).superclassMirror
        while let type = mirror?.subjectType as? ManagedObject.Type {
            if classes.contains(ObjectIdentifier(type)) { return type }
            mirror = mirror?.superclassMirror
        }
        return nil
    }

    /// The entity that the class declares, its attributes in the order of their declaration.
    static func declaredEntity(among classes: Set<ObjectIdentifier> = []) -> Entity {
        let attributes = declaredAttributes
        let above = superclass(among: classes)
        // An index of a base class has the objects of the class already.
        let inherited = above?.declaredEntity(among: classes).indexes ?? []
        let indexes = attributes.filter(\.isIndexed).map { Index(keys: [Index.Key($0.declaration.name)]) } + indexes
        return Entity(
            entityName, attributes.map(\.declaration), relationships: declaredRelationships, unique: uniqueAttributes,
            indexes: indexes.filter { !inherited.contains($0) }, removed: removedAttributes,
            removedIndexes: removedIndexes, superentity: above?.entityName, isAbstract: isAbstract)
    }

    /// Makes what new objects of the class begin with, by the attributes' names.
    static var initialValues: [String: () -> Value] {
        let attributes = declaredAttributes.map { ($0.declaration.name, $0.initialValue) }
        return Dictionary(attributes) { first, _ in first }.compactMapValues { $0 }
    }

    private static var declaredAttributes: [any DeclaredAttribute] {
        declarations.compactMap { $0 as? any DeclaredAttribute }
    }

    private static var declaredRelationships: [RelationshipDescription] {
        declarations.compactMap { ($0 as? any DeclaredRelationship)?.description }
    }

    /// The class's stored properties; those of base classes come first.
    private static var declarations: [Any] {
        var declarations: [Any] = []
        var mirror: Mirror? = Mirror(reflecting: self.init(.prototype(AttributeProbe())))
        while let current = mirror {
            declarations = current.children.map(\.value) + declarations
            mirror = current.superclassMirror
        }
        return declarations
    }

    /// The name of the attribute that a key path reads: it is read on an object that only tells what was asked of it.
    static func attributeName<Object: ManagedObject, Wrapped>(of keyPath: KeyPath<Object, Wrapped>) -> String {
        guard let name = Object.attributeName(ofAny: keyPath) else {
            preconditionFailure("The key path must name an @Attribute of \(Object.self).")
        }
        return name
    }

    /// Nil for a key path that is no attribute of the class.
    class func attributeName(ofAny keyPath: AnyKeyPath) -> String? {
        let probe = AttributeProbe()
        let object = Self(.prototype(probe))
        for sample in AttributeProbe.samples {
            probe.begin(sample)
            let value = object[keyPath: keyPath]
            if !probe.isAttribute(keyPath, value) { return nil }
        }
        return probe.name
    }
}

/// Notes which attribute was read of a prototype.
final class AttributeProbe {
    /// The value that each attribute reads as, by its type. Two samples, because a computed property is unlikely to return both
    /// unchanged.
    typealias Sample = [ValueType: Value]

    static let samples: [Sample] = [
        [
            .string: " aßB", .integer: 101, .double: 101.25, .boolean: true,
            .date: .date(Date(timeIntervalSinceReferenceDate: 1e9)), .decimal: .decimal(101),
        ],
        [
            .string: "", .integer: 1, .double: -0.5, .boolean: false,
            .date: .date(Date(timeIntervalSinceReferenceDate: -7e10)), .decimal: .decimal(-1),
        ],
    ]

    private(set) var name: String?
    private var sample: Sample = [:]
    private var keyPath: AnyKeyPath?
    private var reads = 0
    private var returned: Value?
    private var type: Any.Type?

    func begin(_ sample: Sample) {
        self.sample = sample
        (name, keyPath, returned, type, reads) = (nil, nil, nil, nil, 0)
    }

    func read<Wrapped: AttributeValue>(_ name: String, _ keyPath: AnyKeyPath, _ type: Wrapped.Type) -> Wrapped {
        self.name = name
        self.keyPath = keyPath
        self.type = type
        reads += 1
        guard let value = value(of: type) else {
            preconditionFailure("\(type) must be CaseIterable, or have a placeholder, to be used in key paths.")
        }
        returned = value.attributeValue
        return value
    }

    /// Whether a key path that was read, and gave a value, is the attribute's own: not one into its value, and not that of
    /// a property which reads it. An attribute of a base class has another key path there than in the class.
    func isAttribute(_ other: AnyKeyPath, _ value: Any?) -> Bool {
        if keyPath == other { return true }
        guard reads == 1, let type, let value, Swift.type(of: other).valueType == type, let keyPath,
            Swift.type(of: keyPath).rootType != Swift.type(of: other).rootType
        else { return false }
        return (value as? any AttributeValue)?.attributeValue == returned
    }

    private func value<Wrapped: AttributeValue>(of type: Wrapped.Type) -> Wrapped? {
        sample[type.valueType].flatMap { Wrapped(attributeValue: $0) } ?? type.placeholder
            ?? (type as? any CaseIterable.Type).flatMap { Self.firstCase($0) as? Wrapped }
            // An id is a text of a form of its own.
            ?? Wrapped(attributeValue: ObjectID.anyRecord.attributeValue)
    }

    private static func firstCase<Cases: CaseIterable>(_ type: Cases.Type) -> Cases? { type.allCases.first }
}
