internal import FetchIndexModels
internal import FetchIndexRecords

/// A section key that is computed by a function of an object. Two keys are equal if their names and versions are equal.
public struct ComputedSection: Hashable, Sendable {
    public let name: String
    public let version: Int?
    /// The entity whose objects the function takes; nil if it takes objects of any entity.
    let entityName: String?
    private let makeReader: @Sendable (Entity) -> Reader

    /// Computes a section's name from a record.
    typealias Reader = ([UInt8]) -> String

    init<Object: ManagedObject>(name: String, version: Int?, body: @escaping @Sendable (Object) -> String) {
        self.name = name
        self.version = version
        entityName = Object.self == ManagedObject.self ? nil : Object.entityName
        makeReader = { entity in
            // One object without a context is reused: it gets each record in turn.
            let object = Object(ObjectRegistration(objectID: .anyRecord, entity: entity))
            return { record in
                object.base = record
                return body(object)
            }
        }
    }

    func reader(of entity: Entity) -> Reader { makeReader(entity) }

    public static func == (left: ComputedSection, right: ComputedSection) -> Bool {
        left.name == right.name && left.version == right.version
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(version)
    }
}

extension SectionKey {
    /// The reason why orders with this key can't be cached; nil if they can.
    var uncacheableReason: String? {
        if case .function(let section) = self, section.version == nil {
            return "the computed section key \(section.name) has no version"
        }
        return nil
    }
}
