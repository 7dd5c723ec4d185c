package import FetchIndexModels
package import FetchIndexRecords

extension Store {
    /// Opens or creates a store without caches, and changes its model to `model` by a migration without options.
    package convenience init(at path: String, model: Model, options: Options = Options()) throws {
        try self.init(at: path, options: options)
        try beginMigration(to: model, Migration())?.writer.commit()
    }
}
