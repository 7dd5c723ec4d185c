internal import FetchIndexEssentials
public import FetchIndexModels

extension Model {
    /// Makes the model that classes of managed objects declare. If a base class of a class is also given, the class's
    /// entity becomes a subentity of the nearest such base class's entity.
    public init(_ classes: ManagedObject.Type...) { self.init(classes) }

    /// Makes the model that the classes in a list declare.
    public init(_ classes: [ManagedObject.Type]) {
        let known = Set(classes.map(ObjectIdentifier.init))
        self.init(entities: classes.map { $0.declaredEntity(among: known) })
        attachedTypes = Dictionary(classes.map { ($0.entityName, $0) }) { first, _ in first }
    }
}

extension ManagedObject {
    /// The nearest base class in a set of classes; nil if the set contains none.
    private static func superclass(among classes: Set<ObjectIdentifier>) -> ManagedObject.Type? {
        if classes.isEmpty { return nil }
        var mirror = Mirror(reflecting: self.init(.prototype(AttributeProbe()))).superclassMirror
        while let type = mirror?.subjectType as? ManagedObject.Type {
            if classes.contains(ObjectIdentifier(type)) { return type }
            mirror = mirror?.superclassMirror
        }
        return nil
    }

    /// The entity that the class declares. Its attributes are in the order of declaration, after those of base classes.
    static func declaredEntity(among classes: Set<ObjectIdentifier> = []) -> Entity {
        let attributes = declaredAttributes
        let relationships = declarations.compactMap { declaration -> RelationshipDescription? in
            if case .relationship(let description) = declaration { description } else { nil }
        }
        let above = superclass(among: classes)
        // An index that a base class declares isn't repeated: it includes the objects of this class.
        let inherited = above?.declaredEntity(among: classes).indexes ?? []
        let indexes = attributes.filter(\.isIndexed).map { Index(keys: [Index.Key($0.description.name)]) } + indexes
        return Entity(
            entityName, attributes.map(\.description), relationships: relationships, unique: uniqueAttributes,
            indexes: indexes.filter { !inherited.contains($0) }, removed: removedAttributes,
            removedIndexes: removedIndexes, superentity: above?.entityName, isAbstract: isAbstract,
            renamedFrom: renamedFrom)
    }

    /// Functions that make the initial values of new objects, by the attributes' names.
    static var initialValues: [String: () -> Value] {
        let attributes = declaredAttributes.map { ($0.description.name, $0.initialValue) }
        return Dictionary(attributes) { first, _ in first }.compactMapValues { $0 }
    }

    private typealias DeclaredAttribute = (
        description: AttributeDescription, isIndexed: Bool, initialValue: (() -> Value)?
    )

    private static var declaredAttributes: [DeclaredAttribute] {
        declarations.compactMap {
            if case .attribute(let description, let isIndexed, let initialValue) = $0 {
                (description, isIndexed, initialValue)
            } else {
                nil
            }
        }
    }

    /// The declared attributes and relationships of the base classes, then those of the class.
    private static var declarations: [PropertyDeclaration] {
        var declarations: [PropertyDeclaration] = []
        var mirror: Mirror? = Mirror(reflecting: self.init(.prototype(AttributeProbe())))
        while let current = mirror {
            declarations = current.children.compactMap { ($0.value as? any DeclaredProperty)?.declared } + declarations
            mirror = current.superclassMirror
        }
        return declarations
    }

    /// The dotted name of the attribute that a key path reads: the to-one relationships on the way, and the attribute.
    /// Traps if the key path isn't an attribute's.
    static func attributeName<Object: ManagedObject, Wrapped>(of keyPath: KeyPath<Object, Wrapped>) -> String {
        attributeNames(of: keyPath).joined(separator: ".")
    }

    /// The names of the relationships and the attribute that a key path reads. They are found by applying the key path
    /// to a prototype, which records its reads. Traps if the key path isn't an attribute's.
    static func attributeNames<Object: ManagedObject, Wrapped>(of keyPath: KeyPath<Object, Wrapped>) -> [String] {
        guard let names = Object.attributeNames(ofAny: keyPath) else {
            preconditionFailure(
                "\(keyPath) is not an attribute of \(Object.self): it is computed, or a part of an attribute's value. Name an "
                    + "@Attribute, as in \\.title, or one of a related object, as in \\.author?.name.")
        }
        return names
    }

    /// The names of the relationships and the attribute that a key path reads; nil if its reads show that it isn't an
    /// attribute of the class or of a related object.
    class func attributeNames(ofAny keyPath: AnyKeyPath) -> [String]? {
        let probe = AttributeProbe()
        let object = Self(.prototype(probe))
        for sample in AttributeProbe.samples {
            probe.begin(sample)
            let value = object[keyPath: keyPath]
            if !probe.isAttribute(keyPath, value) { return nil }
        }
        guard let names = probe.names else { return nil }
        // The key path must return nil if a related object on the way is missing. A computed property may return
        // another value.
        for depth in 0..<(names.count - 1) {
            probe.begin(AttributeProbe.samples[0], depth: depth)
            if !AttributeProbe.isNil(object[keyPath: keyPath]) || probe.names != nil { return nil }
        }
        return names
    }
}

/// Records the attribute that a key path reads from a prototype, or from a prototype of a related object.
final class AttributeProbe {
    /// The values that attributes return in a test read, by type. A key path is tested with two samples, because a
    /// property that computes its value is unlikely to return both unchanged.
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

    /// The reads of one test, shared by the first prototype and the prototypes of related objects.
    private final class Reading {
        var sample: Sample = [:]
        /// The number of relationships that can be followed; further relationships return nil.
        var depth = AttributeProbe.greatestDepth
        var names: [String]?
        var keyPath: AnyKeyPath?
        var returned: Value?
        /// The types that the key path's value may have.
        var types: [Any.Type] = []
        var count = 0
    }

    /// The maximum number of relationships on a key path. It stops a computed property that follows them endlessly.
    private static let greatestDepth = 16

    static func isNil(_ value: Any?) -> Bool { (value as? any AttributeValue)?.attributeValue.isNull ?? true }

    private var reading = Reading()
    /// The relationships that lead from the first prototype to this one.
    private let path: [String]
    var names: [String]? { reading.names }

    init() { path = [] }

    private init(_ reading: Reading, _ path: [String]) { (self.reading, self.path) = (reading, path) }

    func begin(_ sample: Sample, depth: Int = greatestDepth) {
        reading = Reading()
        (reading.sample, reading.depth) = (sample, depth)
    }

    /// The prototype of the object to which a to-one relationship leads; nil after `depth` relationships.
    func follow<Object: ManagedObject>(_ name: String, to type: Object.Type) -> Object? {
        path.count < reading.depth ? Object(.prototype(AttributeProbe(reading, path + [name]))) : nil
    }

    func read<Wrapped: AttributeValue>(_ name: String, _ keyPath: AnyKeyPath, _ type: Wrapped.Type) -> Wrapped {
        reading.names = path + [name]
        reading.keyPath = keyPath
        // An attribute of an optional related object is optional in the key path.
        reading.types = path.isEmpty ? [type] : [type, Wrapped?.self]
        reading.count += 1
        guard let value = value(of: type) else {
            preconditionFailure("\(type) must be CaseIterable, or have a placeholder, to be used in key paths.")
        }
        reading.returned = value.attributeValue
        return value
    }

    /// Whether a key path has returned an attribute's value unchanged; `value` is what it returned. The key path may be
    /// equal to the attribute's own key path, lead to the attribute through relationships, or differ only in its root
    /// class: an inherited attribute has one key path in the base class and another in the class.
    func isAttribute(_ other: AnyKeyPath, _ value: Any?) -> Bool {
        if reading.keyPath == other { return true }
        guard reading.count == 1, let value, let keyPath = reading.keyPath,
            reading.types.contains(where: { $0 == Swift.type(of: other).valueType }),
            reading.names?.count ?? 0 > 1 || Swift.type(of: keyPath).rootType != Swift.type(of: other).rootType
        else { return false }
        return (value as? any AttributeValue)?.attributeValue == reading.returned
    }

    private func value<Wrapped: AttributeValue>(of type: Wrapped.Type) -> Wrapped? {
        reading.sample[type.valueType].flatMap { Wrapped(attributeValue: $0) } ?? type.placeholder
            ?? (type as? any CaseIterable.Type).flatMap { Self.firstCase($0) as? Wrapped }
            // A sample text isn't a valid id, so an id is used.
            ?? Wrapped(attributeValue: ObjectID.anyRecord.attributeValue)
    }

    private static func firstCase<Cases: CaseIterable>(_ type: Cases.Type) -> Cases? { type.allCases.first }
}
