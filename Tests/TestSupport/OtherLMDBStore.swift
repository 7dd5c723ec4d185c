internal import Foundation
package import FetchIndexLMDB

/// The stores in the folder Stores: the same one, written by a program with LMDB 0.9 and by one with LMDB 1.0. It has
/// 400 objects of the entity Item, some with texts that don't fit into a page; the cache "by group"; and a commit that
/// the cache hasn't caught up with. The third store was written by LMDB 1.0 with page checksums. It has 60 such objects
/// and the cache.
package enum OtherLMDBStore {
    /// The layout that the linked LMDB doesn't have.
    package static let layout = PageLayout.linked == .version1 ? PageLayout.version3 : .version1

    /// Creates a folder with the store's data file of a layout.
    package static func write(to folder: String, _ layout: PageLayout = layout) throws {
        try copy(layout == .version1 ? "lmdb-0.9" : "lmdb-1.0", to: folder)
    }

    /// Creates a folder with the data file that has page checksums.
    package static func writeWithChecksums(to folder: String) throws { try copy("lmdb-1.0-checksums", to: folder) }

    private static func copy(_ name: String, to folder: String) throws {
        guard let file = Bundle.module.url(forResource: name, withExtension: "mdb", subdirectory: "Stores") else {
            throw CocoaError(.fileNoSuchFile)
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: file.path, toPath: folder + "/data.mdb")
    }
}
