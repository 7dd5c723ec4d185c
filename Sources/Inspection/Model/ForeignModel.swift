package import FetchIndexEssentials
package import FetchIndexModels

/// A model from a file of another program, with what can't be represented: what a companion program passes to
/// `fetchindex` as JSON.
package struct ForeignModel: Codable {
    private let model: ModelFile
    /// What differs between the file and the model, as sentences.
    package let differences: [String]
    /// The names of the classes of the objects, by entity, as far as the file names classes.
    package let classNames: [String: String]

    package init(_ model: Model, differences: [String], classNames: [String: String]) {
        (self.model, self.differences, self.classNames) = (ModelFile(model), differences, classNames)
    }

    /// Decodes what `JSONEncoder` has made of a value.
    package init(json data: Data) throws { self = try JSONDecoder().decode(ForeignModel.self, from: data) }

    /// The model; `path` is the name of its file in messages.
    package func model(of path: String) throws -> Model { try model.model(of: path) }
}
