internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

// For commands, whose users write the values of a named request's variables as texts. Programs have values, and use
// ``PersistentContainer/request(named:with:)``.
extension PersistentContainer {
    /// The named request with texts in place of variables, each read as a value of the type with which its variable is
    /// compared; a list has commas between its elements. Throws `RequestError` for a text that isn't such a value, for an
    /// unknown variable, and for one without a value.
    package func request(named name: String, reading texts: [String: String]) throws -> FetchRequest<ManagedObject> {
        try withPublicErrors {
            let model = try store.snapshot().model
            let template = try model.request(named: name, with: [:])
            let entity = try model.number(of: template.entityName)
            let variables = template.predicate?.variables ?? [:]
            for key in texts.keys.sorted() where variables[key] == nil {
                let near = NearName(variables.keys.sorted().nearest(to: key))
                throw RequestError.malformed("the request \(name) has no variable $\(key)\(near.hint)")
            }
            var values: [String: any PredicateArgument] = [:]
            for (key, variable) in variables.sorted(by: { $0.key < $1.key }) {
                guard let text = texts[key] else {
                    throw RequestError.malformed("the request \(name) needs a value of $\(key)")
                }
                let type = variable.path.flatMap { model.type(ofPath: $0, from: entity) }
                values[key] = try variable.value(text, as: type, of: key)
            }
            return try model.request(named: name, with: values)
        }
    }
}

extension Model {
    /// The type of the attribute to which a dotted path leads, also through relationships to many objects; nil for another
    /// path.
    fileprivate func type(ofPath path: String, from number: Int) -> ValueType? {
        if let column = try? FetchedColumn(path, of: [number], in: self) { return column.type }
        let names = path.pathNames
        guard names.count > 1,
            let next = entities[number].relationship(named: names[0])?.description.destination,
            let destination = try? self.number(of: next)
        else { return nil }
        return type(ofPath: names.dropFirst().joined(separator: "."), from: destination)
    }
}

extension FetchPredicate.Variable {
    /// Reads a text as a value. Without a type, a text that is a number is one.
    fileprivate func value(_ text: String, as type: ValueType?, of name: String) throws -> PredicateValue {
        if isList {
            return .list(
                try text.split(separator: ",").map {
                    try element(String($0.drop { $0 == " " }), as: type, of: name)
                })
        }
        return try element(text, as: type, of: name)
    }

    private func element(_ text: String, as type: ValueType?, of name: String) throws -> PredicateValue {
        guard let type else {
            return .one(Value(text, as: .integer) ?? Value(text, as: .double) ?? .string(text))
        }
        if let value = Value(text, as: type) { return .one(value) }
        throw RequestError.malformed("the value \"\(text)\" of $\(name) is not \(type.nameWithArticle)")
    }
}
