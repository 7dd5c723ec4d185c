internal import FetchIndexEssentials

// A compiled model (`.mom`), as Core Data archives it. Read from real files; an archive has no document.
extension SourceModel {
    private static let mostProperties = 1 << 17

    /// Reads a model from its archive. Throws `KeyedArchive.Malformed`.
    init(archive bytes: [UInt8]) throws {
        let archive = try KeyedArchive(bytes)
        let root = try archive.root()
        guard root.className == "NSManagedObjectModel" else {
            throw KeyedArchive.Malformed(reason: "it is an archive of another class than a model")
        }
        // Many references may lead to one entity with many properties, so a small file could be a large model.
        var left = Self.mostProperties
        for object in root.elements("NSEntities").objects {
            let entity = try Entity(object)
            left -= 1 + entity.attributes.reduce(0) { $0 + $1.size } + entity.relationships.count
            if left < 0 || archive.isExhausted {
                throw KeyedArchive.Malformed(reason: "it has more than \(Self.mostProperties) properties")
            }
            entities.append(entity)
        }
        entities.sort { $0.name < $1.name }
        removeInherited()
        let templates = zip(root.keys("NSFetchRequestTemplates"), root.elements("NSFetchRequestTemplates"))
        requests = templates.compactMap(Request.init).sorted { $0.name < $1.name }
        configurations = root.keys("NSConfigurations").texts.filter { $0 != "PF_DEFAULT_CONFIGURATION_NAME" }.sorted()
    }
}

extension SourceModel {
    /// Removes the properties of superentities from entities: the archive in a store repeats them, a compiled model
    /// doesn't.
    private mutating func removeInherited() {
        let declared = Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
        for index in entities.indices {
            var inherited: Set<String> = []
            var next = entities[index].superentity
            for _ in entities {
                guard let above = next.flatMap({ declared[$0] }) else { break }
                inherited.formUnion(above.attributes.map(\.name) + above.relationships.map(\.name))
                inherited.formUnion(above.fetchedProperties)
                next = above.superentity
            }
            if inherited.isEmpty { continue }
            entities[index].attributes.removeAll { inherited.contains($0.name) }
            entities[index].relationships.removeAll { inherited.contains($0.name) }
            entities[index].fetchedProperties.removeAll(where: inherited.contains)
        }
    }
}

extension KeyedArchive.Object {
    fileprivate func name(_ key: String) throws -> String {
        guard let name = text(key), !name.isEmpty else {
            throw KeyedArchive.Malformed(reason: "an object of the class \(className) has no name")
        }
        return name
    }

    /// A renaming identifier, if it isn't the name itself.
    fileprivate func formerName(_ name: String) -> String? {
        text("NSRenamingIdentifier").flatMap { $0 == name ? nil : $0 }
    }

    fileprivate var hasUserInfo: Bool { !elements("NSUserInfo").isEmpty }
}

extension SourceModel.Entity {
    fileprivate init(_ object: KeyedArchive.Object) throws {
        name = try object.name("NSEntityName")
        className = object.text("NSClassNameForEntity").flatMap { $0 == "NSManagedObject" ? nil : $0 }
        superentity = object.object("NSSuperentity")?.text("NSEntityName")
        isAbstract = object.flag("NSIsAbstract")
        formerName = object.formerName(name)
        if object.hasUserInfo { rules.append("user info") }
        for property in object.elements("NSProperties").objects {
            switch property.className {
            case "NSRelationshipDescription": relationships.append(try SourceModel.Relationship(property))
            case "NSFetchedPropertyDescription": fetchedProperties.append(try property.name("NSPropertyName"))
            case "NSExpressionDescription": break
            default: attributes.append(try SourceModel.Attribute(property))
            }
        }
        attributes.sort { $0.name < $1.name }
        relationships.sort { $0.name < $1.name }
        uniqueLists = object.elements("NSUniqueTuples").objects.map { list in
            list.elements.map { element in
                switch element {
                case .text(let name): name
                case .object(let property): property.text("NSPropertyName") ?? ""
                default: ""
                }
            }
        }
        let described = object.elements("NSFetchIndexDescriptions").objects
        if described.isEmpty {
            // Until 2017. Later archives repeat fetch indexes here.
            indexes = object.elements("NSCompoundIndexes").objects.map { list in
                let names = list.elements.texts
                return SourceModel.Index(name: names.joined(separator: ", "), keys: names.map { ($0, false) })
            }
        } else {
            indexes = described.map { SourceModel.Index(described: $0) }
        }
    }
}

extension SourceModel.Request {
    fileprivate init?(_ name: KeyedArchive.Value, _ template: KeyedArchive.Value) {
        guard case .text(let name) = name else { return nil }
        self.name = name
        guard case .object(let object) = template else {
            (entity, predicate) = ("", nil)
            return
        }
        entity = object.object("NSEntity")?.text("NSEntityName") ?? ""
        switch object["NSPredicate"] {
        case .null: predicate = ""
        case .object(let archived): predicate = ArchivedPredicate.format(archived)
        default: predicate = nil
        }
        fetchLimit = max(0, object.integer("NSFetchLimit"))
    }
}

extension SourceModel.Index {
    fileprivate init(described object: KeyedArchive.Object) {
        name = object.text("NSIndexName") ?? ""
        var keys: [(name: String, isDescending: Bool)] = []
        for element in object.elements("NSIndexElements").objects {
            // 0 is a sorted list, 1 an index of places.
            guard let property = element.text("NSPropertyName"), element.integer("NSFetchIndexElementType") == 0 else {
                return
            }
            keys.append((property, !element.flag("NSAscending")))
        }
        if !keys.isEmpty && object.object("NSPartialIndexPredicate") == nil { self.keys = keys }
    }
}

extension SourceModel.Attribute {
    /// The numbers of types, from the documentation of `NSAttributeType`, and their words in a model's XML.
    private static let types = [
        100: "Integer 16", 200: "Integer 32", 300: "Integer 64", 400: "Decimal", 500: "Double", 600: "Float",
        700: "String",
        800: "Boolean", 900: "Date", 1000: "Binary", 1100: "UUID", 1200: "URI", 1800: "Transformable",
    ]

    /// Composite attributes can't be nested deeper, nor have more parts: parts may be shared.
    private static let (mostLevels, mostParts) = (8, 4096)

    /// The number of attributes that it is.
    fileprivate var size: Int { parts.reduce(1) { $0 + $1.size } }

    fileprivate init(_ object: KeyedArchive.Object, level: Int = 0) throws {
        name = try object.name("NSPropertyName")
        type = Self.types[object.integer("NSAttributeType")]
        if level < Self.mostLevels {
            for element in object.elements("NSCompositeElements").objects {
                parts.append(try Self(element, level: level + 1))
                guard size <= Self.mostParts else {
                    throw KeyedArchive.Malformed(reason: "\(name) has more than \(Self.mostParts) parts")
                }
            }
        }
        isOptional = object.flag("NSIsOptional")
        isTransient = object.flag("NSIsTransient")
        isIndexed = object.flag("NSIsIndexed")
        isExternal = object.integer("NSFlagsKey") & 4 != 0
        formerName = object.formerName(name)
        switch object["NSDefaultValue"] {
        case .text(let text): defaultText = text
        case .integer(let number): defaultText = "\(number)"
        case .real(let number): defaultText = "\(number)"
        case .flag(let flag): defaultText = flag ? "YES" : "NO"
        case .object(let value):
            if case .real(let seconds) = value["NS.time"] { (defaultText, defaultSeconds) = ("\(seconds)", seconds) }
            if case .integer(let seconds) = value["NS.time"] {
                (defaultText, defaultSeconds) = ("\(seconds)", Double(seconds))
            }
            if case .bytes(let bytes) = value["NS.uuidbytes"], bytes.count == 16 {
                defaultText = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)).uuidString }
            }
            if let address = value.text("NS.relative") { defaultText = address }
            if value.className == "NSDecimalNumber" { defaultText = Self.decimal(value) }
        case .null, .bytes: break
        }
        if object.className == "NSDerivedAttributeDescription" {
            derivation = object.object("NSDerivationExpression").flatMap(Self.derivation) ?? ""
        }
        if !object.elements("NSValidationPredicates").isEmpty { rules.append("validation rules") }
        if object.hasUserInfo { rules.append("user info") }
    }

    /// The text of an archived decimal: its digits are in groups of 16 bits, the lowest first.
    private static func decimal(_ value: KeyedArchive.Object) -> String? {
        guard case .bytes(let bytes) = value["NS.mantissa"], bytes.count <= 16 else { return nil }
        // 1 is little-endian; the other order occurs in files of old processors only.
        guard value.integer("NS.mantissa.bo") <= 1 else { return nil }
        var number = Decimal(0)
        for byte in bytes.reversed() { number = number * 256 + Decimal(Int(byte)) }
        let exponent = value.integer("NS.exponent")
        guard (-128...127).contains(exponent) else { return nil }
        return Decimal(string: "\(value.flag("NS.negative") ? "-" : "")\(number)e\(exponent)").map { "\($0)" }
    }

    /// The text of an archived expression that is a function of one attribute, such as canonical:(name); nil for others.
    private static func derivation(_ expression: KeyedArchive.Object) -> String? {
        guard let function = expression.text("NSSelectorName"), function.hasSuffix(":"),
            let argument = expression.elements("NSArguments").objects.first,
            let path = argument.elements("NSArguments").objects.first?.text("NSKeyPath")
        else { return nil }
        return "\(function)(\(path))"
    }
}

extension SourceModel.Relationship {
    fileprivate init(_ object: KeyedArchive.Object) throws {
        name = try object.name("NSPropertyName")
        destination =
            object.text("_NSDestinationEntityName") ?? object.object("NSDestinationEntity")?.text("NSEntityName") ?? ""
        inverse =
            object.text("_NSInverseRelationshipName")
            ?? object.object("NSInverseRelationship")?.text("NSPropertyName")
        let most = object.integer("NSMaxCount")
        isToMany = most != 1
        isOrdered = object.flag("NSIsOrdered")
        isOptional = object.flag("NSIsOptional")
        isTransient = object.flag("NSIsTransient")
        // Zero or less means any number.
        (minCount, maxCount) = isToMany ? (max(0, object.integer("NSMinCount")), max(0, most)) : (0, 1)
        deleteRule =
            [0: "No Action", 1: "Nullify", 2: "Cascade", 3: "Deny"][object.integer("NSDeleteRule")] ?? "Nullify"
        formerName = object.formerName(name)
    }
}
