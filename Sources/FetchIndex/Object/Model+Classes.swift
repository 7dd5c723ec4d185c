internal import FetchIndexEssentials
public import FetchIndexModels

extension Model {
    /// Makes the model that classes of managed objects declare. If a class's base class is among them, its entity is a
    /// subentity of the base class's entity.
    public init(_ classes: ManagedObject.Type...) { self.init(classes) }

    /// Makes the model that a list of classes declares.
    public init(_ classes: [ManagedObject.Type]) {
        let known = Set(classes.map(ObjectIdentifier.init))
        self.init(entities: classes.map { $0.declaredEntity(among: known) })
        attachedTypes = Dictionary(classes.map { ($0.entityName, $0) }) { first, _ in first }
    }
}

extension ManagedObject {
    /// The nearest base class that is in a set of classes.
    private static func superclass(among classes: Set<ObjectIdentifier>) -> ManagedObject.Type? {
        if classes.isEmpty { return nil }
        var mirror = Mirror(reflecting: self.init(.prototype(AttributeProbe()))).superclassMirror
        while let type = mirror?.subjectType as? ManagedObject.Type {
            if classes.contains(ObjectIdentifier(type)) { return type }
            mirror = mirror?.superclassMirror
        }
        return nil
    }

    /// The entity that the class declares, with attributes in the order of their declaration.
    static func declaredEntity(among classes: Set<ObjectIdentifier> = []) -> Entity {
        let attributes = declaredAttributes
        let relationships = declarations.compactMap { declaration -> RelationshipDescription? in
            if case .relationship(let description) = declaration { description } else { nil }
        }
        let above = superclass(among: classes)
        // A base class's index already includes the objects of this class.
        let inherited = above?.declaredEntity(among: classes).indexes ?? []
        let indexes = attributes.filter(\.isIndexed).map { Index(keys: [Index.Key($0.description.name)]) } + indexes
        return Entity(
            entityName, attributes.map(\.description), relationships: relationships, unique: uniqueAttributes,
            indexes: indexes.filter { !inherited.contains($0) }, removed: removedAttributes,
            removedIndexes: removedIndexes, superentity: above?.entityName, isAbstract: isAbstract)
    }

    /// Functions that make the initial values of the class's new objects, by the attributes' names.
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

    /// The declarations of the class's stored properties, those of base classes first.
    private static var declarations: [PropertyDeclaration] {
        var declarations: [PropertyDeclaration] = []
        var mirror: Mirror? = Mirror(reflecting: self.init(.prototype(AttributeProbe())))
        while let current = mirror {
            declarations = current.children.compactMap { ($0.value as? any DeclaredProperty)?.declared } + declarations
            mirror = current.superclassMirror
        }
        return declarations
    }

    /// The name of the attribute that a key path reads, with dots between to-one relationships on the way. Traps for
    /// other key paths.
    static func attributeName<Object: ManagedObject, Wrapped>(of keyPath: KeyPath<Object, Wrapped>) -> String {
        attributeNames(of: keyPath).joined(separator: ".")
    }

    /// The names of the relationships and the attribute that a key path reads. Applies the key path to a prototype,
    /// which only records what is read.
    static func attributeNames<Object: ManagedObject, Wrapped>(of keyPath: KeyPath<Object, Wrapped>) -> [String] {
        guard let names = Object.attributeNames(ofAny: keyPath) else {
            preconditionFailure(
                "\(keyPath) is not an attribute of \(Object.self): it is computed, or a part of an attribute's value. Name an "
                    + "@Attribute, as in \\.title, or one of a related object, as in \\.author?.name.")
        }
        return names
    }

    /// The names that a key path reads; nil if it isn't an attribute of the class or of a related object.
    class func attributeNames(ofAny keyPath: AnyKeyPath) -> [String]? {
        let probe = AttributeProbe()
        let object = Self(.prototype(probe))
        for sample in AttributeProbe.samples {
            probe.begin(sample)
            let value = object[keyPath: keyPath]
            if !probe.isAttribute(keyPath, value) { return nil }
        }
        guard let names = probe.names else { return nil }
        // If a related object on the way is missing, the value must be nil: a computed property may return another one.
        for depth in 0..<(names.count - 1) {
            probe.begin(AttributeProbe.samples[0], depth: depth)
            if !AttributeProbe.isNil(object[keyPath: keyPath]) || probe.names != nil { return nil }
        }
        return names
    }
}

/// Records which attribute was read from a prototype, or from a prototype reached through its to-one relationships.
final class AttributeProbe {
    /// The sample value that each attribute returns, by type. There are two samples, because a computed property is
    /// unlikely to return both unchanged.
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

    /// The reads of the first prototype and of those reached from it.
    private final class Reading {
        var sample: Sample = [:]
        /// The number of relationships that lead to an object; those behind them are nil.
        var depth = AttributeProbe.greatestDepth
        var names: [String]?
        var keyPath: AnyKeyPath?
        var returned: Value?
        /// The types in which the key path may return the value.
        var types: [Any.Type] = []
        var count = 0
    }

    /// The maximum depth: a computed property may follow relationships endlessly.
    private static let greatestDepth = 16

    static func isNil(_ value: Any?) -> Bool { (value as? any AttributeValue)?.attributeValue.isNull ?? true }

    private var reading = Reading()
    /// The relationships that lead to the prototype.
    private let path: [String]
    var names: [String]? { reading.names }

    init() { path = [] }

    private init(_ reading: Reading, _ path: [String]) { (self.reading, self.path) = (reading, path) }

    func begin(_ sample: Sample, depth: Int = greatestDepth) {
        reading = Reading()
        (reading.sample, reading.depth) = (sample, depth)
    }

    /// A prototype of the object that a to-one relationship leads to.
    func follow<Object: ManagedObject>(_ name: String, to type: Object.Type) -> Object? {
        path.count < reading.depth ? Object(.prototype(AttributeProbe(reading, path + [name]))) : nil
    }

    func read<Wrapped: AttributeValue>(_ name: String, _ keyPath: AnyKeyPath, _ type: Wrapped.Type) -> Wrapped {
        reading.names = path + [name]
        reading.keyPath = keyPath
        // The value is optional behind an optional object.
        reading.types = path.isEmpty ? [type] : [type, Wrapped?.self]
        reading.count += 1
        guard let value = value(of: type) else {
            preconditionFailure("\(type) must be CaseIterable, or have a placeholder, to be used in key paths.")
        }
        reading.returned = value.attributeValue
        return value
    }

    /// Whether a key path that was read, and returned a value, is the attribute's own: neither one into its value, nor
    /// that of a computed property that reads it. An attribute of a base class has different key paths in the base
    /// class and in the class.
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
            // An id is a text with its own format.
            ?? Wrapped(attributeValue: ObjectID.anyRecord.attributeValue)
    }

    private static func firstCase<Cases: CaseIterable>(_ type: Cases.Type) -> Cases? { type.allCases.first }
}
