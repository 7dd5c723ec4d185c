package import FetchIndexModels
package import FetchIndexRecords

extension Store {
    /// Opens a store without caches, or creates one, and makes a model its own as far as free changes do.
    package convenience init(at path: String, model: Model, options: Options = Options()) throws {
        try self.init(at: path, options: options)
        try beginMigration(to: model, Migration())?.writer.commit()
    }
}
