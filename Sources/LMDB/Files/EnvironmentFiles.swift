/// The names of the files in an environment's folder.
package enum EnvironmentFiles {
    package static let data = "data.mdb"
    package static let lock = "lock.mdb"
    /// The folder in which a new data file is made.
    package static let making = data + ".making"
    /// The old data file after a conversion.
    package static let old = data + ".before"

    static func data(in folder: String) -> String { folder + "/" + data }
    static func lock(in folder: String) -> String { folder + "/" + lock }
    static func old(in folder: String) -> String { folder + "/" + old }
}
