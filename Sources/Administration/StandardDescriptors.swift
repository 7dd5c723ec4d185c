internal import Files
internal import LMDB

/// Standard input, output and error of the process.
package enum StandardDescriptors {
    /// Opens those that are closed on /dev/null. Reading and writing them still fails.
    package static func occupy() { Descriptors.occupyStandard() }
}
