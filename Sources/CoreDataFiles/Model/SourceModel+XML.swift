// The `contents` file of a model, as Xcode 4 and later write it.
extension SourceModel {
    /// Reads a model from its XML. Throws `XMLTree.Malformed`.
    init(xml bytes: [UInt8]) throws {
        let root = try XMLTree.read(bytes)
        guard root.name == "model" else {
            throw XMLTree.Malformed(reason: "line \(root.line): expected the element model, found \(root.name)")
        }
        var composites: [String: [Attribute]] = [:]
        for element in root.children {
            switch element.name {
            case "entity": entities.append(try Entity(element))
            // Xcode writes the first name; others are seen in files of other programs.
            case "composite", "compositeType", "compositeAttribute":
                composites[try element.required("name")] = try element.children(named: "attribute").map {
                    try Attribute($0)
                }
            case "fetchRequest":
                requests.append(
                    Request(
                        name: try element.required("name"), entity: try element.required("entity"),
                        predicate: element.attributes["predicateString"] ?? "",
                        fetchLimit: element.attributes["fetchLimit"].flatMap { Int($0) } ?? 0))
            case "configuration": configurations.append(try element.required("name"))
            default: break
            }
        }
        var left = Self.mostParts
        for entity in entities.indices {
            for place in entities[entity].attributes.indices {
                try Self.addParts(to: &entities[entity].attributes[place], composites, within: [], &left)
            }
        }
    }

    /// The maximum number of parts of composite attributes: types within types could make a small file a large model.
    private static let mostParts = 1 << 16

    /// Adds the parts of a composite attribute. It names its type, whatever that XML attribute is called. `open` are the
    /// types of which it is a part.
    private static func addParts(
        to attribute: inout Attribute, _ composites: [String: [Attribute]], within open: [String], _ left: inout Int
    ) throws {
        guard attribute.type == "Composite",
            let type = attribute.typeNames.first(where: { composites[$0] != nil }), !open.contains(type)
        else { return }
        for part in composites[type] ?? [] {
            left -= 1
            if left < 0 {
                throw XMLTree.Malformed(reason: "its composite attributes have more than \(mostParts) parts")
            }
            var part = part
            try addParts(to: &part, composites, within: open + [type], &left)
            attribute.parts.append(part)
        }
    }
}

extension XMLTree {
    fileprivate func required(_ name: String) throws -> String {
        guard let value = attributes[name], !value.isEmpty else {
            throw Malformed(reason: "line \(line): \(self.name) has no \(name)")
        }
        return value
    }

    fileprivate func flag(_ name: String) -> Bool { attributes[name] == "YES" }

    /// A renaming identifier, if it isn't the name itself.
    fileprivate var formerName: String? { attributes["elementID"].flatMap { $0 == attributes["name"] ? nil : $0 } }

    fileprivate func number(_ name: String) throws -> Int {
        guard let text = attributes[name] else { return 0 }
        guard let number = Int(text), number >= 0 else {
            throw Malformed(reason: "line \(line): \(name) is \"\(text)\", not a number")
        }
        return number
    }

    fileprivate var hasUserInfo: Bool { children(named: "userInfo").contains { !$0.children.isEmpty } }
}

extension SourceModel.Entity {
    fileprivate init(_ element: XMLTree) throws {
        name = try element.required("name")
        className = element.attributes["representedClassName"]
        superentity = element.attributes["parentEntity"]
        isAbstract = element.flag("isAbstract")
        formerName = element.formerName
        if element.hasUserInfo { rules.append("user info") }
        for child in element.children {
            switch child.name {
            case "attribute": attributes.append(try SourceModel.Attribute(child))
            case "relationship": relationships.append(try SourceModel.Relationship(child))
            case "fetchedProperty": fetchedProperties.append(try child.required("name"))
            case "fetchIndex": indexes.append(SourceModel.Index(fetchIndex: child))
            // Until 2017.
            case "compoundIndexes":
                for index in child.children {
                    let names = index.children.compactMap { $0.attributes["value"] }
                    indexes.append(
                        SourceModel.Index(name: names.joined(separator: ", "), keys: names.map { ($0, false) }))
                }
            case "uniquenessConstraints":
                for list in child.children { uniqueLists.append(list.children.compactMap { $0.attributes["value"] }) }
            default: break
            }
        }
    }
}

extension SourceModel.Index {
    fileprivate init(fetchIndex element: XMLTree) {
        name = element.attributes["name"] ?? ""
        var keys: [(name: String, isDescending: Bool)] = []
        for part in element.children(named: "fetchIndexElement") {
            guard let property = part.attributes["property"], part.attributes["type"] ?? "Binary" == "Binary" else {
                return
            }
            keys.append((property, part.attributes["order"] == "descending"))
        }
        if !keys.isEmpty && element.attributes["partialIndexPredicate"] == nil { self.keys = keys }
    }
}

extension SourceModel.Attribute {
    fileprivate init(_ element: XMLTree) throws {
        let given = element.attributes
        name = try element.required("name")
        type = given["attributeType"].flatMap { $0 == "Undefined" ? nil : $0 }
        isOptional = element.flag("optional")
        isTransient = element.flag("transient")
        defaultText = given["defaultValueString"]
        if let text = given["defaultDateTimeInterval"] { (defaultText, defaultSeconds) = (text, Double(text)) }
        formerName = element.formerName
        if element.flag("derived") { derivation = given["derivationExpression"] ?? "" }
        isIndexed = element.flag("indexed")
        isExternal = element.flag("allowsExternalBinaryDataStorage")
        if type == "Composite" { typeNames = given.values.sorted() }
        let validations = [
            "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString",
        ]
        if validations.contains(where: { given[$0] != nil }) { rules.append("validation rules") }
        if element.flag("spotlightIndexingEnabled") { rules.append("Spotlight indexes") }
        if element.hasUserInfo { rules.append("user info") }
    }
}

extension SourceModel.Relationship {
    fileprivate init(_ element: XMLTree) throws {
        let given = element.attributes
        name = try element.required("name")
        destination = given["destinationEntity"] ?? ""
        inverse = given["inverseName"]
        (minCount, maxCount) = (try element.number("minCount"), try element.number("maxCount"))
        // With a maximum of one, Core Data takes it for a to-one relationship.
        isToMany = element.flag("toMany") && maxCount != 1
        isOrdered = element.flag("ordered")
        isOptional = element.flag("optional")
        isTransient = element.flag("transient")
        deleteRule = given["deletionRule"] ?? "Nullify"
        formerName = element.formerName
    }
}
