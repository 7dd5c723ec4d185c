// The states of an object, and what leads from one to another:
//
//                   save              delete                                   save
//     inserted  ----------->  saved  -------->  deleted(wasSaved: true)   ------------->  gone(wasSaved: true)
//               delete                                                    process, save
//               ----------------------------->  deleted(wasSaved: false)  ------------->  gone(wasSaved: false)
//
// A fetched object is saved from the beginning. It is gone at once if it is deleted elsewhere while it has no changes.
// Undoing a deletion makes an object what it was before; a gone one is inserted again. A rollback makes inserted
// objects gone, and deleted ones saved. A reset makes all objects gone.
extension ManagedObject {
    enum Status {
        /// The object isn't in the store yet.
        case inserted
        /// The object is in the store, with or without changes.
        case saved
        /// The object is to be deleted by the next save; `wasSaved` tells whether the store has it.
        case deleted(wasSaved: Bool)
        /// The object no longer belongs to the context; `wasSaved` tells whether the store had it.
        case gone(wasSaved: Bool)

        /// Whether the store has, or had, the object.
        var hasBeenSaved: Bool {
            switch self {
            case .inserted: false
            case .saved: true
            case .deleted(let wasSaved), .gone(let wasSaved): wasSaved
            }
        }

        var isSaved: Bool { if case .saved = self { true } else { false } }
        var isInserted: Bool { if case .inserted = self { true } else { false } }
        var isDeleted: Bool { if case .deleted = self { true } else { false } }
    }
}
