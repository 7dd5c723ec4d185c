// The states of an object, and the operations that lead from one state to another:
//
//                   save              delete                                   save
//     inserted  ----------->  saved  -------->  deleted(wasSaved: true)   ------------->  gone(wasSaved: true)
//               delete                                                    process, save
//               ----------------------------->  deleted(wasSaved: false)  ------------->  gone(wasSaved: false)
//
// A fetched object begins in the state `saved`. If another context or process deletes an object that has no changes
// here, the object is gone once this context has advanced. Undoing a deletion restores the object's former state; an
// object that is gone becomes inserted again. A rollback makes inserted objects gone, and deleted objects saved, unless
// they were deleted elsewhere, too. A reset makes all objects gone.
extension ManagedObject {
    enum Status {
        /// The object isn't in the store yet.
        case inserted
        /// An object of the store, with or without changes. Its record may be missing.
        case saved
        /// The object is marked as deleted; `wasSaved` tells whether the next save must delete it from the store.
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

extension ManagedObject {
    public var isInserted: Bool {
        noteReadOfState()
        return status.isInserted
    }

    /// Whether the object is marked as deleted; false once the deletion was saved.
    public var isDeleted: Bool {
        noteReadOfState()
        return status.isDeleted
    }

    /// Whether the object was saved, isn't deleted, and has unsaved values.
    public var isUpdated: Bool {
        noteReadOfState()
        return status.isSaved && !changes.isEmpty
    }

    public var hasChanges: Bool { isInserted || isUpdated || isDeleted }

    /// Whether the object is saved and its record must still be read.
    public var isFault: Bool {
        if case .saved = status { return base == nil }
        return false
    }
}
