internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

extension NamedRequest {
    /// Makes a request for a model to keep. The predicate may have variables such as $NAME.
    public init(_ name: String, entity: String, predicate: FetchPredicate? = nil, fetchLimit: Int = 0) {
        self.init(
            name, entity: entity, predicate: predicate?.description ?? "", fetchLimit: max(0, fetchLimit))
    }
}

extension PersistentContainer {
    /// The request that the store's model keeps under a name, with values in place of the variables of its predicate.
    /// Variables without a value stay; `withSubstitutionVariables` of the predicate replaces them. Throws
    /// `RequestError.malformed` for an unknown name, and also throws like that function.
    public func request(
        named name: String, with variables: [String: any PredicateArgument] = [:]
    ) throws -> FetchRequest<ManagedObject> {
        try withPublicErrors { try store.snapshot().model.request(named: name, with: variables) }
    }

    /// The named request with texts in place of variables, each read as a value of the type with which its variable is
    /// compared; a list has commas between its elements. Throws `RequestError` for a text that isn't such a value, for an
    /// unknown variable, and for one without a value.
    ///
    /// For commands, whose users write values as texts. Programs have values.
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

    fileprivate func request(
        named name: String, with variables: [String: any PredicateArgument]
    ) throws -> FetchRequest<ManagedObject> {
        guard let named = requests.first(where: { $0.name == name }) else {
            let near = NearName(requests.map(\.name).nearest(to: name))
            throw RequestError.malformed("the store has no request \(name)\(near.hint)")
        }
        var request = FetchRequest<ManagedObject>(entityName: named.entity)
        request.fetchLimit = named.fetchLimit
        if !named.predicate.isEmpty {
            let predicate = try FetchPredicate(format: named.predicate, argumentArray: [])
            request.predicate = try predicate.withSubstitutionVariables(variables)
        }
        return request
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
