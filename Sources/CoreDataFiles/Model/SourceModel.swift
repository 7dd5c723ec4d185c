/// A model as Core Data describes it.
struct SourceModel {
    struct Attribute {
        var name = ""
        /// The type, in the words of a model's XML; nil if it's undefined.
        var type: String?
        var isOptional = false
        var isTransient = false
        /// The default value as text; nil without one.
        var defaultText: String?
        /// The default value of a date, in seconds since 2001.
        var defaultSeconds: Double?
        /// The name in an older version of the model.
        var formerName: String?
        /// The expression that computes the value; nil if the attribute isn't derived.
        var derivation: String?
        /// Whether the model declares an index of this attribute alone, as it was done until 2017.
        var isIndexed = false
        /// What else is declared that FetchIndex doesn't have: rules for values, for example.
        var rules: [String] = []
        /// Whether large values are kept in files beside the store.
        var isExternal = false
        /// In XML, texts one of which is the name of a composite attribute's type.
        var typeNames: [String] = []
        /// The parts of a composite attribute; empty for others. SwiftData declares Codable structures and enumerations so.
        var parts: [Attribute] = []

        /// Whether the attribute is composite only in form: SwiftData gives an enumeration with raw values one part of its
        /// own name.
        var isOnlyPart: Bool { parts.count == 1 && parts[0].name == name && parts[0].parts.isEmpty }
    }

    struct Relationship {
        var name = ""
        var destination = ""
        var inverse: String?
        var isToMany = false
        var isOrdered = false
        var isOptional = false
        var isTransient = false
        var minCount = 0
        var maxCount = 0
        var deleteRule = "Nullify"
        var formerName: String?
    }

    struct Index {
        var name = ""
        /// The names of the properties, and whether they descend; nil if the index has an expression or another form
        /// than a sorted list.
        var keys: [(name: String, isDescending: Bool)]?
    }

    struct Entity {
        var name = ""
        /// The name of the class of the objects; nil if they have none of their own.
        var className: String?
        var superentity: String?
        var isAbstract = false
        var formerName: String?
        var attributes: [Attribute] = []
        var relationships: [Relationship] = []
        var fetchedProperties: [String] = []
        var indexes: [Index] = []
        var uniqueLists: [[String]] = []
        /// What else is declared that FetchIndex doesn't have.
        var rules: [String] = []
    }

    /// A fetch request template.
    struct Request {
        let name: String
        let entity: String
        /// Nil if it can't be read.
        let predicate: String?
        var fetchLimit = 0
    }

    var entities: [Entity] = []
    var requests: [Request] = []
    var configurations: [String] = []
}
