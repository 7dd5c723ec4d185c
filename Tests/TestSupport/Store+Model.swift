package import FetchIndexModels
package import FetchIndexRecords

extension Store {
    /// Opens or creates a store, and changes its model to `model` by a migration without options. Builds no indexes,
    /// and rebuilds no caches.
    package convenience init(at path: String, model: Model, options: Options = Options()) throws {
        try self.init(at: path, options: options)
        try beginMigration(to: model, Migration())?.writer.commit()
    }
}
