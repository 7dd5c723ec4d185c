package import FetchIndexPlatform

/// The reason why keys can't be sorted.
package enum SortingError: Error, Equatable, CustomStringConvertible {
    case noMemory
    /// A system call on a temporary file failed, for example because the disk is full.
    case fileFailed(SystemError)
    /// The bytes read from a temporary file aren't the bytes that were written there.
    case fileDamaged

    package var description: String {
        switch self {
        case .noMemory: "the system has too little memory for sorting keys"
        case .fileFailed(let error): "a temporary file for sorting keys cannot be used: \(error)"
        case .fileDamaged: "a temporary file of sorted keys was damaged on the disk"
        }
    }
}
