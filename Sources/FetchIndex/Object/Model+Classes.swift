extension Model {
    /// The model that classes of managed objects declare.
    public init(_ classes: ManagedObject.Type...) {
        self.init(entities: classes.map(\.declaredEntity))
        objectClasses = Dictionary(classes.map { ($0.entityName, $0) }) { first, _ in first }
    }
}

extension ManagedObject {
    /// The entity that the class declares, its attributes in the order of their declaration.
    static var declaredEntity: Entity {
        var attributes: [AttributeDescription] = []
        var mirror: Mirror? = Mirror(reflecting: self.init(.prototype(AttributeProbe())))
        while let current = mirror {
            let own = current.children.compactMap { ($0.value as? any DeclaredAttribute)?.declaration }
            attributes = own + attributes
            mirror = current.superclassMirror
        }
        return Entity(entityName, attributes)
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
        _ = Self(.prototype(probe))[keyPath: keyPath]
        return probe.keyPath == keyPath ? probe.name : nil
    }
}

/// Notes which attribute was read of a prototype.
final class AttributeProbe {
    var name: String?
    var keyPath: AnyKeyPath?
}
